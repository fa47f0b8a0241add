package io.headwater.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.GZIPInputStream

import scala.util.Try

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.io.IOUtils
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access
import org.json4s.{JObject, JString}
import org.json4s.jackson.JsonMethods

/** The directories of views in a lake format: what lies in one says so itself, whatever the names of the table are. */
private[spark] object LakeRoots {

  /** Whether a directory is that of a view's table. */
  def isView(session: SparkSession, directory: Path): Boolean = Try(properties(session, directory)).toOption.exists(Views.are)

  /** The directories that a path may be a part of, as a directory of a partition is: the nearest first. */
  def around(path: Path): Seq[Path] = {
    val above = Iterator.iterate(path)(_.getParent).takeWhile(_ != null).take(Depth).toSeq
    above.take(above.lastIndexWhere(isPart) + 3)
  }

  private val Depth = 8

  private def isPart(path: Path): Boolean =
    path.getName.contains("=") || path.getName.startsWith(".") || path.getName.startsWith("_") || Parts(path.getName)

  private val Parts = Set("data", "metadata")

  private def properties(session: SparkSession, directory: Path): Map[String, String] =
    FileFormats.owned(session, directory).flatMap(Format.of).filter(_.ownClasses) match {
      case Some(format) if format.by_path =>
        LakeTables.load(session, TableName(Names.SessionCatalog, Seq(format.name), directory.toString))
          .fold(Map.empty[String, String])(LakeTables.properties)
      case Some(_) => described(directory.getFileSystem(Access.classic(session).sessionState.newHadoopConf()), directory)
      case None => Map.empty
    }

  /** The properties in the newest metadata of a table. */
  private def described(fs: FileSystem, directory: Path): Map[String, String] = {
    val newest = fs.listStatus(new Path(directory, "metadata")).filter(_.getPath.getName.endsWith(".metadata.json"))
      .maxBy(each => (each.getModificationTime, each.getPath.getName)).getPath
    val opened = fs.open(newest)
    val in = if (newest.getName.endsWith(".gz.metadata.json")) new GZIPInputStream(opened) else opened
    val text = try new String(IOUtils.readFullyToByteArray(new java.io.DataInputStream(in)), UTF_8) finally in.close()
    JsonMethods.parse(text) \ "properties" match {
      case JObject(fields) => fields.collect { case (name, JString(value)) => name -> value }.toMap
      case _ => Map.empty
    }
  }
}
