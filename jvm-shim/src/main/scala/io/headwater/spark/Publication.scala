package io.headwater.spark

import java.net.URI

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogTable, CatalogTablePartition}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.hive.headwater.Metastore
import org.apache.spark.sql.types.StructType
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/**
 * Moves the catalog's pointers of a view to files that are already written. Nothing is deleted.
 *
 * A publication carries a version; one that finds a higher version in the catalog changes nothing, so
 * an engine that was paused while another took over cannot put old content back.
 */
object Publication {
  private val Version = "headwater.version"
  val Owner = "headwater.owner"

  /**
   * @param request {"table", "owner", "version", "partitions": [{"spec", "location", "rows", "bytes", "was"}], "removed":
   *   [spec], "location" (of an unpartitioned view), "rows", "bytes", "was", "shape" (what the table must be)}
   * @return {"superseded": [old locations], "unchanged": [new locations]}, {"fenced": the higher version found},
   *   {"misfit": true} or, when the table of that name is another one, {"stranger": true}. Unchanged is what took the place of files with the fingerprint `was`.
   */
  def publish(session: SparkSession, request: String): String = {
    val asked = parse(request)
    val version = (asked \ "version").asInstanceOf[JInt].num.toLong
    val table = metadata(session, string(asked \ "table"))
    val answer =
      if (!table.properties.get(Owner).contains(string(asked \ "owner"))) JObject("stranger" -> JBool(true))
      else if (!fits(table, asked \ "shape")) JObject("misfit" -> JBool(true))
      else if (table.partitionColumnNames.isEmpty) whole(session, table, version, asked)
      else partitions(session, table, version, asked)
    Tables.renewed(session, string(asked \ "table"))
    compact(render(answer))
  }

  /** Whether a table has the columns, partition columns and format that a redefinition may have changed. */
  private def fits(table: CatalogTable, shape: JValue): Boolean = shape == JNothing || {
    def plain(schema: StructType) =
      schema.fields.toSeq.map(field => (field.name.toLowerCase, field.dataType.catalogString.toLowerCase))
    plain(CharVarcharUtils.getRawSchema(table.schema)) == plain(StructType.fromDDL(string(shape \ "columns"))) &&
      table.partitionColumnNames.map(_.toLowerCase) == list(shape \ "partitioned_by").map(string(_).toLowerCase) &&
      table.provider.exists(_.equalsIgnoreCase(string(shape \ "format")))
  }

  private def whole(session: SparkSession, table: CatalogTable, version: Long, asked: JValue): JObject =
    table.properties.get(Version).map(_.toLong).filter(_ > version) match {
      case Some(higher) => JObject("fenced" -> JLong(higher))
      case None =>
        val catalog = Access.classic(session).sharedState.externalCatalog
        val same = unchanged(session, Seq(asked -> table.storage.locationUri))
        val (place, property) = (uri(string(asked \ "location")), Version -> version.toString)
        if (!Metastore.move(catalog, table.identifier, place, property, statistics(asked))) {
          Own.expect(table.database, table.identifier.table)
          // As it is by now: a statement may have changed its properties while files were compared.
          val latest = catalog.getTable(table.database, table.identifier.table)
          catalog.alterTable(latest.copy(
            storage = latest.storage.copy(locationUri = Some(place)), properties = latest.properties + property))
          catalog.alterTableStats(table.database, table.identifier.table, Some(statistics(asked)))
        }
        JObject(superseded(table.storage.locationUri.toSeq, Seq(place)), same)
    }

  private def partitions(session: SparkSession, table: CatalogTable, version: Long, asked: JValue): JObject = {
    val catalog = Access.classic(session).sharedState.externalCatalog
    val (database, name) = (table.database, table.identifier.table)
    val written = list(asked \ "partitions").map(entry => partition(table, version, entry))
    val gone = list(asked \ "removed").map(spec)
    val current = existing(session, table, written.map(_.spec) ++ gone)
    current.values.flatMap(_.parameters.get(Version)).map(_.toLong).filter(_ > version).maxOption match {
      case Some(higher) => JObject("fenced" -> JLong(higher))
      case None =>
        val same = unchanged(session, list(asked \ "partitions").map(entry =>
          entry -> current.get(spec(entry \ "spec")).flatMap(_.storage.locationUri)))
        val (altered, created) = written.partition(each => current.contains(each.spec))
        if (created.nonEmpty) catalog.createPartitions(database, name, created, ignoreIfExists = true)
        if (altered.nonEmpty) catalog.alterPartitions(database, name, altered)
        val dropped = gone.filter(current.contains)
        if (dropped.nonEmpty)
          catalog.dropPartitions(database, name, dropped, ignoreIfNotExists = true, purge = false, retainData = true)
        catalog.alterTableStats(database, name, total(table, current.values.toSeq, written))
        JObject(superseded(current.values.flatMap(_.storage.locationUri).toSeq, written.flatMap(_.storage.locationUri)), same)
    }
  }

  /** What nothing points at any more; a publication that is repeated supersedes nothing of its own. */
  private def superseded(before: Seq[URI], now: Seq[URI]): JField =
    "superseded" -> JArray(before.diff(now).map(old => JString(new Path(old).toString)).toList)

  /** Where what is published lies whose place, as it is before, holds the files that were said to be there. */
  private def unchanged(session: SparkSession, places: Seq[(JValue, Option[URI])]): JField = {
    val compared = places.collect { case (entry, Some(old)) if entry \ "was" != JNothing => entry -> new Path(old) }
    val states = Files.states(session, compared.map(each => Some(each._2)))
    "unchanged" -> JArray(compared.zip(states).collect {
      case ((entry, _), state) if state \ "fingerprint" == entry \ "was" => entry \ "location"
    }.toList)
  }

  private def existing(
      session: SparkSession, table: CatalogTable,
      specs: Seq[Map[String, String]]): Map[Map[String, String], CatalogTablePartition] = {
    val catalog = Access.classic(session).sharedState.externalCatalog
    val wanted = specs.toSet
    val found =
      if (wanted.size > 32) catalog.listPartitions(table.database, table.identifier.table).filter(p => wanted(p.spec))
      else wanted.toSeq.flatMap(catalog.getPartitionOption(table.database, table.identifier.table, _))
    found.map(each => each.spec -> each).toMap
  }

  private def partition(table: CatalogTable, version: Long, entry: JValue): CatalogTablePartition =
    CatalogTablePartition(
      spec(entry \ "spec"),
      table.storage.copy(locationUri = Some(uri(string(entry \ "location")))),
      // Hive's catalog stores the statistics of an altered partition, but not those of a new one.
      parameters = Map(
        Version -> version.toString,
        "spark.sql.statistics.totalSize" -> number(entry \ "bytes").toString,
        "spark.sql.statistics.numRows" -> number(entry \ "rows").toString),
      stats = Some(statistics(entry)))

  /** The table's statistics after a publication, from those before and the partitions that changed. */
  private def total(
      table: CatalogTable, before: Seq[CatalogTablePartition],
      after: Seq[CatalogTablePartition]): Option[CatalogStatistics] = {
    def sum(partitions: Seq[CatalogTablePartition]) = (
      partitions.flatMap(_.stats).map(_.sizeInBytes).sum,
      partitions.flatMap(_.stats).flatMap(_.rowCount).sum)
    val (oldBytes, oldRows) = sum(before)
    val (newBytes, newRows) = sum(after)
    val bytes = table.stats.map(_.sizeInBytes).getOrElse(BigInt(0)) - oldBytes + newBytes
    val rows = table.stats.flatMap(_.rowCount).getOrElse(BigInt(0)) - oldRows + newRows
    Some(CatalogStatistics(bytes.max(0), Some(rows.max(0))))
  }

  private def statistics(entry: JValue): CatalogStatistics =
    CatalogStatistics(number(entry \ "bytes"), Some(number(entry \ "rows")))

  private def metadata(session: SparkSession, name: String): CatalogTable =
    Tables.metadata(session, Names.table(name)).getOrElse(throw new NoSuchTableException(Names.split(name)))

  private def spec(value: JValue): Map[String, String] =
    value.asInstanceOf[JObject].obj.map { case (column, each) => column -> string(each) }.toMap

  private def list(value: JValue): Seq[JValue] = value match {
    case JArray(entries) => entries
    case _ => Nil
  }

  /** A path as `Files.written` spells it, with its characters escaped as a URI wants. */
  private def uri(path: String): URI = new Path(path).toUri

  private def string(value: JValue): String = value.asInstanceOf[JString].s

  private def number(value: JValue): BigInt = value match {
    case JInt(number) => number
    case JLong(number) => BigInt(number)
    case _ => BigInt(0)
  }
}
