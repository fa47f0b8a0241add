package io.headwater.spark

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.text.TextFileFormat
import org.apache.spark.sql.execution.datasources.xml.XmlFileFormat
import org.apache.spark.sql.execution.streaming.runtime.MetadataLogFileIndex
import org.apache.spark.sql.headwater.Access

/**
 * Which relations are the files that a listing of their directories finds. Only those named here are: a format that keeps a
 * log of its files, or that is not made of files, is none of them, whatever class it extends.
 */
private[spark] object FileFormats {

  private val Files: Map[String, String] = Map(
    classOf[ParquetFileFormat].getName -> "parquet",
    classOf[OrcFileFormat].getName -> "orc",
    "org.apache.spark.sql.hive.orc.OrcFileFormat" -> "orc",
    classOf[CSVFileFormat].getName -> "csv",
    classOf[JsonFileFormat].getName -> "json",
    classOf[TextFileFormat].getName -> "text",
    classOf[XmlFileFormat].getName -> "xml",
    "org.apache.spark.sql.avro.AvroFileFormat" -> "avro")

  private val Listings: Set[Class[_]] =
    Set(classOf[CatalogFileIndex], classOf[InMemoryFileIndex], classOf[MetadataLogFileIndex], classOf[OverlaidFiles],
      classOf[ListedFiles])

  private val HiveInputs = Set(
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.mapred.SequenceFileInputFormat",
    "org.apache.hadoop.hive.ql.io.RCFileInputFormat",
    "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat")

  /** The format of files that Spark reads as they are listed; none if something else says which rows there are. */
  def listed(files: HadoopFsRelation, table: Option[CatalogTable]): Either[String, String] = {
    val conf = files.sparkSession.sessionState.newHadoopConf()
    val roots = files.location.rootPaths
    val owner = roots.flatMap(root => if (table.isEmpty) owning(conf, root) else owned(conf, root)).headOption
    val known = Files.get(files.fileFormat.getClass.getName).filter(_ => isListing(files.location))
    owner.fold(known.toRight(table.flatMap(_.provider).getOrElse(simple(files.fileFormat))))(Left(_))
  }

  /** Whether Spark itself lists the files: no log says which of them are rows of a table. */
  def isListing(files: FileIndex): Boolean = Listings(files.getClass)

  /** Whether a table that Hive's classes read is the files in its directories. */
  def isListed(table: CatalogTable): Boolean =
    table.storage.inputFormat.exists(HiveInputs) &&
      !table.properties.contains("storage_handler") &&
      !table.properties.get("transactional").exists(_.equalsIgnoreCase("true"))

  /** The format whose log says which of the files in a directory are rows of a table. */
  def owned(conf: Configuration, directory: Path): Option[String] = Try {
    val fs = directory.getFileSystem(conf)
    Format.all.find(format => format.directory.nonEmpty && isThere(fs, directory, format.directory)).map(_.name)
  }.toOption.flatten

  /** Whether a directory has a file; a name of which only the end is known begins with `*`. */
  private def isThere(fs: FileSystem, directory: Path, file: String): Boolean = {
    val place = new Path(directory, file)
    val (above, name) = (place.getParent, place.getName)
    if (!name.startsWith("*")) fs.exists(place)
    else fs.exists(above) && fs.listStatus(above).exists(_.getPath.getName.endsWith(name.tail))
  }

  def owned(session: SparkSession, directory: Path): Option[String] =
    owned(Access.classic(session).sessionState.newHadoopConf(), directory)

  /** The same of a directory or one that it lies in: a part of such a table is no table either. */
  def owning(conf: Configuration, path: Path): Option[String] =
    Iterator.iterate(path)(_.getParent).takeWhile(_ != null).flatMap(owned(conf, _)).nextOption()

  def simple(value: AnyRef): String = value.getClass.getSimpleName.stripSuffix("$")
}
