package io.headwater.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, PermissiveMode}
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.headwater.{Access, HeadwaterException}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/**
 * Snapshots of a table of files without partitions, as long as programs only append to it.
 *
 * A snapshot is the number of files and a digest of their names, sizes and times, in the order in which they came. Example:
 * with `2 9f3a…`, a table has three files now. If the digest of the two oldest is the same, the table had these two, and the
 * third came since. Otherwise some file went or changed, and nobody can read what was there.
 */
private[spark] object FileSnapshots {
  type Named = (String, FileStatus)

  /** A table with more files has no snapshots: each look and each refresh lists all of them. */
  private val Most = 20000
  private val Digest = "SHA-256"

  /** Options by which Spark leaves out files. */
  private val Choosing = Set(
    "pathglobfilter", "modifiedbefore", "modifiedafter", "recursivefilelookup", "ignoremissingfiles", "ignorecorruptfiles")

  /** Those files of a table, oldest first, if it has snapshots. */
  def ordered(table: CatalogTable, files: => Seq[Named]): Option[Seq[Named]] =
    if (!applies(table)) None
    else {
      val found = files
      // Spark reads no file below a directory of such a table.
      Option.when(found.size <= Most && !found.exists(_._1.contains("/")))(
        found.sortBy { case (name, file) => (file.getModificationTime, name) })
    }

  /** The snapshot of a table with these files, and what says [[Reading how]] they are read. */
  def of(files: Seq[Named], how: String): String = said(files.size, digest(files, how))

  /** Those of a table's files that it had at a snapshot; none if it lacks some of them now, or reads them in another way. */
  def at(files: Seq[Named], how: String, snapshot: String): Option[Seq[Named]] =
    snapshot.split(" ") match {
      case Array(count, _) => count.toIntOption.map(files.take).filter(of(_, how) == snapshot)
      case _ => None
    }

  /** The rows of the files that came between two snapshots; `null` if some went, or nobody can say. */
  def added(session: SparkSession, table: String, since: String, until: String): DataFrame = {
    val found = for {
      known <- Tables.metadata(session, table)
      all <- files(session, known)
      how = Reading.of(known)
      before <- at(all, how, since)
      after <- at(all, how, until)
      if after.size >= before.size
    } yield Access.frame(session)(relation(session, known, after.drop(before.size), Map.empty))
    found.orNull
  }

  /**
   * A table as it was at a snapshot.
   * @throws FilesGone it does not have all files of the snapshot any more
   */
  def read(session: SparkSession, table: String, snapshot: String, options: Map[String, String]): LogicalPlan = {
    val found = for {
      known <- Tables.metadata(session, table)
      all <- files(session, known)
      old <- at(all, Reading.of(known), snapshot)
    } yield relation(session, known, old, options)
    found.getOrElse(throw new FilesGone(s"$table does not have all files any more that a refresh was to read"))
  }

  private def applies(table: CatalogTable): Boolean =
    table.partitionColumnNames.isEmpty && table.tableType != CatalogTableType.VIEW && !Views.is(table) &&
      table.provider.flatMap(Format.of).exists(_.listed) &&
      !table.storage.properties.keys.exists(key => Choosing(key.toLowerCase)) && !judgesRows(table)

  /**
   * Whether rows that Spark cannot parse are left out, fail or show in a column. A row is judged by the columns that a query
   * reads of it, and changed rows are read with others. The table alone says so: looks and refreshes have other settings.
   */
  private def judgesRows(table: CatalogTable): Boolean = {
    val options = CaseInsensitiveMap(table.storage.properties)
    val corrupt = options.getOrElse("columnNameOfCorruptRecord", SQLConf.COLUMN_NAME_OF_CORRUPT_RECORD.defaultValue.get)
    options.get("mode").exists(!_.equalsIgnoreCase(PermissiveMode.name)) ||
    table.schema.exists(_.name.equalsIgnoreCase(corrupt))
  }

  private def files(session: SparkSession, table: CatalogTable): Option[Seq[Named]] =
    table.storage.locationUri.map(new Path(_)).flatMap { root =>
      ordered(table, Sinks.files(session, root, Some(table.schema)).getOrElse(Files.of(session, root)))
    }

  private def relation(
      session: SparkSession, table: CatalogTable, files: Seq[Named], options: Map[String, String]): LogicalPlan = {
    val read = table.copy(storage = table.storage.copy(properties = table.storage.properties ++ options))
    PublishedRelation.over(session, read)(found => new ListedFiles(found.rootPaths, files.map(_._2).filter(_.getLen > 0)))
  }

  private def said(count: Int, digest: String): String = s"$count $digest"

  private def digest(files: Seq[Named], how: String): String = {
    val digest = MessageDigest.getInstance(Digest)
    digest.update(how.getBytes(UTF_8))
    files.foreach { case (name, file) => digest.update(s"$name ${file.getLen} ${file.getModificationTime}\n".getBytes(UTF_8)) }
    digest.digest().take(16).map(byte => f"$byte%02x").mkString
  }
}

/** Files went that a refresh was to read: their table was overwritten since. */
class FilesGone(text: String) extends HeadwaterException(text)

/** Some files of a table without partitions. */
final class ListedFiles(override val rootPaths: Seq[Path], files: Seq[FileStatus]) extends FileIndex {
  override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] =
    Seq(PartitionDirectory(InternalRow.empty, files.map(FileStatusWithMetadata(_)).toArray))

  override def inputFiles: Array[String] = files.map(SparkPath.fromFileStatus(_).urlEncoded).toArray

  override def refresh(): Unit = ()

  override def sizeInBytes: Long = files.map(_.getLen).sum

  override def partitionSchema: StructType = new StructType
}
