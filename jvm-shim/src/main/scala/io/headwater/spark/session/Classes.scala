package io.headwater.spark

import java.util.jar.JarInputStream

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.json4s.reflect.Reflector

/**
 * Loads all classes of the shim when the first session is made. Spark's Thrift server closes the class loader of `--jars`
 * with the first session of a client that ends: a class that was loaded stays, and another one is not found any more.
 */
object Classes {
  private val Suffix = ".class"

  /** The names of all classes of the shim, loaded. Some need classes that this Spark lacks, and are left out. */
  lazy val loaded: Seq[String] = {
    EngineProcess.builder
    Compiled.sources
    names.filter(isLoaded).tapEach(name => describe(Class.forName(name, false, getClass.getClassLoader)))
  }

  private def isLoaded(name: String): Boolean =
    try { Class.forName(name, false, getClass.getClassLoader); true }
    catch { case _: ClassNotFoundException | _: LinkageError => false }

  /** Json4s finds the fields of a message in the file of its class, which is read once. */
  private def describe(found: Class[_]): Unit =
    if (classOf[Product].isAssignableFrom(found) && !isPlanned(found) && !found.isInterface && !found.getName.endsWith("$"))
      try Reflector.describe(Reflector.scalaTypeOf(found)) catch { case NonFatal(_) | _: LinkageError => }

  private def isPlanned(found: Class[_]): Boolean =
    Seq(classOf[TreeNode[_]], classOf[Rule[_]], classOf[Function1[_, _]]).exists(_.isAssignableFrom(found))

  private def names: Seq[String] =
    Option(getClass.getProtectionDomain.getCodeSource).map(_.getLocation).filter(_.getPath.endsWith(".jar")).toSeq.flatMap { jar =>
      val entries = new JarInputStream(jar.openStream())
      try Iterator.continually(entries.getNextJarEntry).takeWhile(_ != null).map(_.getName)
        .filter(_.endsWith(Suffix)).map(_.stripSuffix(Suffix).replace('/', '.')).toList
      finally entries.close()
    }
}
