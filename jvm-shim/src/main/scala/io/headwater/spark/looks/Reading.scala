package io.headwater.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable}

/**
 * How the files of a table are read, beside its format. Example: after `ALTER TABLE t SET SERDEPROPERTIES ('sep' = ';')`, the
 * same files have other rows. So this is a part of the state of each partition. The columns are one of it where their order
 * alone tells which value of a file is of which: a new column that no view reads moves all behind it.
 */
private[spark] object Reading {
  /** What a catalog notes that no reader asks for. Another property may be one of a reader's. */
  private val Notes = Set(
    "transient_lastddltime", "last_modified_by", "last_modified_time", "numfiles", "numrows", "rawdatasize", "totalsize",
    "numpartitions", "numfileserasurecoded", "column_stats_accurate", "stats_generated_via_stats_task", "external", "comment",
    "external.table.purge", "bucketing_version")
  /** The same of what tells how files are read. There, `comment` is an option of CSV. */
  private val Places = Set("path")
  private val Prefixes = Seq("spark.sql.", "headwater.")

  /** A digest for a table; empty if nothing is stated. Headwater states nothing for its own views. */
  def of(table: CatalogTable): String =
    if (Views.are(table.properties)) ""
    else digest(
      stated(table.storage, isHive(table)) ++ (if (isHive(table)) counted("table", table.properties) else Nil) ++ places(table))

  /** The same for a partition, beside what holds for its table. Only Hive's readers look at it. */
  def of(table: CatalogTable, partition: CatalogStorageFormat): String =
    if (!isHive(table) || Views.are(table.properties)) "" else digest(stated(partition, withClasses = true))

  private def places(table: CatalogTable): Seq[String] =
    if (isHive(table) || table.provider.flatMap(Format.of).exists(_.by_position))
      table.dataSchema.map(column => s"column ${column.name} ${column.dataType.sql}")
    else Nil

  private def isHive(table: CatalogTable): Boolean = table.provider.contains("hive")

  private def stated(storage: CatalogStorageFormat, withClasses: Boolean): Seq[String] = {
    val classes = if (withClasses) storage.serde.toSeq ++ storage.inputFormat else Nil
    classes ++ counted("storage", storage.properties.filterNot(_ == ("serialization.format" -> "1")), Places)
  }

  private def counted(of: String, properties: Map[String, String], notes: Set[String] = Notes): Seq[String] =
    properties.toSeq.filterNot { case (key, _) => notes(key.toLowerCase) || Prefixes.exists(key.startsWith) }.sorted
      .map { case (key, value) => s"$of $key=$value" }

  /** Empty if there are none. */
  def digest(facts: Seq[String]): String =
    if (facts.isEmpty) ""
    else MessageDigest.getInstance("SHA-256").digest(facts.mkString("\n").getBytes(UTF_8)).take(8).map(byte => f"$byte%02x").mkString
}
