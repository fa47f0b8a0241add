package io.headwater.spark

import java.lang.reflect.InvocationTargetException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.function.UnaryOperator

import scala.annotation.tailrec
import scala.collection.mutable
import scala.util.{Try, Using}
import scala.util.control.NonFatal

import org.apache.spark.sql.execution.datasources.FileIndex
import org.apache.spark.sql.headwater.HeadwaterException
import org.codehaus.janino.SimpleCompiler

/**
 * The code that calls a format's own classes. The shim is built where no format is, so it holds this code as Java, and the
 * driver compiles that for the version of the format that it has, with the compiler of Spark's generated code: a version
 * that lacks a method is refused before anything runs. That compiler, Janino, knows no lambdas, and of a type argument it
 * knows little: the result of `Map.get` needs a cast.
 *
 * The code of a format whose queries find files by Spark jobs is an operator, too: it finds them in the driver.
 *
 * A format may have a second file, with code for classes that some versions lack or have otherwise. The first file is given
 * it if it compiles, and goes without it else.
 */
object Compiled {
  /** Read at the start: see [[Classes]]. */
  private[spark] lazy val sources: Map[String, String] =
    Format.all.filter(_.ownClasses).flatMap(each => Seq(each.title, each.title + Part)).flatMap { title =>
      Option(getClass.getResourceAsStream(s"/headwater/$title.java"))
        .map(in => title -> Using.resource(in)(found => new String(found.readAllBytes, UTF_8)))
    }.toMap

  /** What ends the name of the second file: a reader of logs on the driver. */
  private lazy val Part = "Kernel"

  private val made = mutable.Map.empty[String, AnyRef]

  /** The calls of a format that the application has: an object of the class in its code. A failure is not kept: it may pass. */
  def calls(name: String): AnyRef = synchronized {
    made.getOrElseUpdate(name, {
      val format = Format.of(name).get
      val loader = LakeTables.loader(format).getOrElse(throw new HeadwaterException(
        s"the classes of ${format.title} cannot be reached from this thread; docs/ways-in.md says how to add its jar"))
      extended(format.title, compiled(format.title, sources(format.title), loader))
    })
  }

  /** Where a query finds its files: in the driver, if the code of a format that the engine asked knows them there. */
  def inDriver(location: FileIndex): FileIndex = synchronized {
    made.valuesIterator.collect { case calls: UnaryOperator[_] => calls.asInstanceOf[UnaryOperator[FileIndex]] }
      .foldLeft(location)((found, calls) => calls(found))
  }

  private def extended(title: String, calls: AnyRef): AnyRef = {
    for {
      source <- sources.get(title + Part)
      made <- Try(compiled(title + Part, source, calls.getClass.getClassLoader))
    } calls.getClass.getMethod("extend", classOf[Object]).invoke(calls, made)
    calls
  }

  def compiled(title: String, source: String, loader: ClassLoader): AnyRef = {
    try {
      val compiler = new SimpleCompiler
      compiler.setParentClassLoader(loader)
      compiler.setSourceVersion(8) // else it refuses static methods of interfaces
      compiler.setTargetVersion(8)
      compiler.cook(s"$title.java", source)
      compiler.getClassLoader.loadClass(s"io.headwater.spark.$title").getConstructor().newInstance().asInstanceOf[AnyRef]
    } catch {
      case error @ (NonFatal(_) | _: LinkageError) =>
        throw new HeadwaterException(
          s"Headwater does not work with this version of $title (${Failures.line(thrown(error))}); docs/formats.md names those that are tested")
    }
  }

  /** What a constructor threw that was called by reflection. */
  @tailrec
  private def thrown(error: Throwable): Throwable = error match {
    case wrapped: InvocationTargetException if wrapped.getCause != null => thrown(wrapped.getCause)
    case _ => error
  }
}
