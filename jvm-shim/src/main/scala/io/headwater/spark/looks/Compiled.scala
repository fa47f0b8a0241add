package io.headwater.spark

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.util.{Try, Using}
import scala.util.control.NonFatal

import org.apache.spark.sql.headwater.HeadwaterException
import org.codehaus.janino.SimpleCompiler

/**
 * The code that calls a format's own classes. The shim is built where no format is, so it holds this code as Java, and the
 * driver compiles that for the version of the format that it has, with the compiler of Spark's generated code: a version
 * that lacks a method is refused before anything runs. That compiler, Janino, knows no lambdas, and of a type argument it
 * knows little: the result of `Map.get` needs a cast.
 */
object Compiled {
  /** Read at the start: see [[Classes]]. */
  private[spark] lazy val sources: Map[String, String] = Format.all.filter(_.ownClasses).flatMap { format =>
    Option(getClass.getResourceAsStream(s"/headwater/${format.title}.java")).map { in =>
      format.name -> Using.resource(in)(found => new String(found.readAllBytes, UTF_8))
    }
  }.toMap

  private val made = mutable.Map.empty[String, Try[AnyRef]]

  /** The calls of a format that the application has: an object of the class in its code. */
  def calls(name: String): AnyRef = synchronized {
    made.getOrElseUpdate(name, {
      val format = Format.of(name).get
      Try(compiled(format.title, sources(name), LakeTables.loader(format).get))
    }).get
  }

  def compiled(title: String, source: String, loader: ClassLoader): AnyRef = {
    val compiler = new SimpleCompiler
    compiler.setParentClassLoader(loader)
    compiler.setSourceVersion(8) // else it refuses static methods of interfaces
    compiler.setTargetVersion(8)
    try compiler.cook(s"$title.java", source)
    catch {
      case error @ (NonFatal(_) | _: LinkageError) => throw new HeadwaterException(
        s"Headwater does not work with this version of $title (${Failures.line(error)}); docs/formats.md names those that are tested")
    }
    compiler.getClassLoader.loadClass(s"io.headwater.spark.$title").getConstructor().newInstance().asInstanceOf[AnyRef]
  }
}
