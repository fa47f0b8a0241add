package io.headwater.spark

import java.net.URI

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogTable, CatalogTablePartition, ExternalCatalog}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.hive.headwater.Metastore
import org.apache.spark.sql.types.StructType

/** A partition to publish, with the fingerprint of its files; `was` is the fingerprint of files that hold the same rows. */
final case class PublishedPartition(
    spec: Map[String, String], location: String, rows: Long = 0, bytes: Long = 0, was: Option[String] = None,
    fingerprint: String = "")

/** What the table of a view must be. */
final case class Shape(columns: String, partitioned_by: Seq[String], format: String)

/**
 * Files that a view is to consist of: those of `partitions`, which take the place of these and of the `removed` ones, or,
 * of an unpartitioned view, those at a `location`.
 *
 * @param root the view's directory, if this version is to be kept ([[FileVersions]]); none: it is not
 * @param since the version on record, whose list tells the files of the partitions that stay
 */
final case class PublicationRequest(
    table: String,
    owner: String,
    version: Long,
    partitions: Seq[PublishedPartition] = Nil,
    removed: Seq[Map[String, String]] = Nil,
    location: Option[String] = None,
    rows: Option[Long] = None,
    bytes: Option[Long] = None,
    was: Option[String] = None,
    fingerprint: String = "",
    shape: Option[Shape] = None,
    root: Option[String] = None,
    since: Option[String] = None)

sealed trait PublicationAnswer

/**
 * Nothing points at these places any more; unchanged are those that took the place of files with the fingerprint `was`.
 *
 * @param kept whether the version can be read later
 */
final case class Superseded(superseded: Seq[String], unchanged: Seq[String], kept: Boolean) extends PublicationAnswer

/** A higher version is published. */
final case class Fenced(fenced: Long) extends PublicationAnswer

/** The table of that name is another one. */
final case class Stranger(stranger: Boolean = true) extends PublicationAnswer

/** The table has another shape. */
final case class Misfit(misfit: Boolean = true) extends PublicationAnswer

/**
 * Moves the catalog's pointers of a view to files that are already written. Nothing is deleted.
 *
 * A publication carries a version; one that finds a higher version in the catalog changes nothing, so
 * an engine that was paused while another took over cannot put old content back.
 */
object Publication {
  private val Version = "headwater.version"
  val Owner = "headwater.owner"

  /** @return a [[PublicationAnswer]] to a [[PublicationRequest]], both as JSON */
  def publish(session: SparkSession, request: String): String =
    Wire.encode(TableFormats.ofViews.publish(session, Wire.decode[PublicationRequest](request)))

  private[spark] def moved(session: SparkSession, asked: PublicationRequest): PublicationAnswer = {
    val table = metadata(session, asked.table)
    if (!table.properties.get(Owner).contains(asked.owner)) Stranger()
    else if (!asked.shape.forall(fits(table, _))) Misfit()
    else
      try if (table.partitionColumnNames.isEmpty) whole(session, table, asked) else partitions(session, table, asked)
      catch {
        case error: Throwable =>
          asked.root.foreach(root => Try(FileVersions.forget(session, root, asked.version)))
          throw error
      }
  }

  /**
   * Whether a table has the columns, partition columns and format that a redefinition may have changed. Readers of JSON find
   * a column by its exact name, and the catalog a partition.
   */
  private def fits(table: CatalogTable, shape: Shape): Boolean = {
    def plain(schema: StructType) =
      schema.fields.toSeq.map(field => (field.name, field.dataType.catalogString))
    plain(CharVarcharUtils.getRawSchema(table.schema)) == plain(StructType.fromDDL(shape.columns)) &&
      table.partitionColumnNames == shape.partitioned_by &&
      table.provider.exists(_.equalsIgnoreCase(shape.format))
  }

  private def whole(session: SparkSession, table: CatalogTable, asked: PublicationRequest): PublicationAnswer =
    table.properties.get(Version).map(_.toLong).filter(_ > asked.version) match {
      case Some(higher) => Fenced(higher)
      case None =>
        val catalog = Access.classic(session).sharedState.externalCatalog
        val part = PublishedPartition(
          Map.empty, asked.location.get, asked.rows.getOrElse(0), asked.bytes.getOrElse(0), asked.was, asked.fingerprint)
        val same = unchanged(session, Seq(part -> table.storage.locationUri))
        val kept = keep(session, table, asked, Seq(part), Nil)
        val (place, property) = (uri(part.location), Version -> asked.version.toString)
        if (!Metastore.move(catalog, table.identifier, place, property, statistics(part))) {
          Own.expect(table.database, table.identifier.table)
          // As it is by now: a statement may have changed its properties while files were compared.
          val latest = catalog.getTable(table.database, table.identifier.table)
          catalog.alterTable(latest.copy(
            storage = latest.storage.copy(locationUri = Some(place)), properties = latest.properties + property))
          catalog.alterTableStats(table.database, table.identifier.table, Some(statistics(part)))
        }
        Superseded(superseded(table.storage.locationUri.toSeq, Seq(place)), same, kept)
    }

  private def partitions(session: SparkSession, table: CatalogTable, asked: PublicationRequest): PublicationAnswer = {
    val catalog = Access.classic(session).sharedState.externalCatalog
    val (database, name) = (table.database, table.identifier.table)
    val written = asked.partitions.map(partition(table, asked.version, _))
    val current = existing(session, table, written.map(_.spec) ++ asked.removed)
    current.values.flatMap(_.parameters.get(Version)).map(_.toLong).filter(_ > asked.version).maxOption match {
      case Some(higher) => Fenced(higher)
      case None =>
        val replaced = (written.map(_.spec) ++ asked.removed).toSet
        lazy val stay = catalog.listPartitions(database, name).filterNot(each => replaced(each.spec))
        val kept = keep(session, table, asked, asked.partitions, stay)
        val same = unchanged(session, asked.partitions.map(part => part -> current.get(part.spec).flatMap(_.storage.locationUri)))
        val (altered, created) = written.partition(each => current.contains(each.spec))
        if (created.nonEmpty) catalog.createPartitions(database, name, created, ignoreIfExists = false)
        if (altered.nonEmpty) catalog.alterPartitions(database, name, altered)
        val dropped = asked.removed.filter(current.contains)
        if (dropped.nonEmpty) forget(catalog, table, dropped)
        catalog.alterTableStats(database, name, total(table, current.values.toSeq, written))
        Superseded(superseded(current.values.flatMap(_.storage.locationUri).toSeq, written.flatMap(_.storage.locationUri)), same, kept)
    }
  }

  /**
   * Lists where the partitions of a version lie: those that it makes, and those that stay. These are as in the list of the
   * version on record. If others are there, the version is not kept: they are on no record, and nobody knows their rows.
   *
   * @return whether it is kept
   */
  private def keep(
      session: SparkSession, table: CatalogTable, asked: PublicationRequest, made: Seq[PublishedPartition],
      stay: => Seq[CatalogTablePartition]): Boolean = asked.root.exists { root =>
    val replaced = (made.map(_.spec) ++ asked.removed).toSet
    val before = asked.since.flatMap(FileVersions.known(session, root, _)).toSeq.flatMap(_.partitions)
      .filterNot(each => replaced(each.spec))
    val there = stay.map(each => (each.spec, each.storage.locationUri.map(new Path(_).toString))).toSet
    val known = there == before.map(each => (each.spec, Option(each.location))).toSet
    if (known) {
      val own = made.map(each => KeptPartition(each.spec, each.location, each.fingerprint, each.bytes))
      FileVersions.keep(session, root, asked.version, KeptVersion.of(table, own ++ before))
    }
    known
  }

  /** Drops partitions and no others: Hive takes a dot in a value for any character, and drops `1-0` with `1.0`. */
  private def forget(catalog: ExternalCatalog, table: CatalogTable, dropped: Seq[Map[String, String]]): Unit = {
    val (database, name) = (table.database, table.identifier.table)
    def others = catalog.listPartitions(database, name).filterNot(each => dropped.contains(each.spec))
    val before = if (dropped.exists(_.values.exists(_.contains('.')))) others else Nil
    catalog.dropPartitions(database, name, dropped, ignoreIfNotExists = true, purge = false, retainData = true)
    if (before.nonEmpty) {
      val left = others.map(_.spec).toSet
      val taken = before.filterNot(each => left(each.spec))
      if (taken.nonEmpty) catalog.createPartitions(database, name, taken, ignoreIfExists = true)
    }
  }

  /** What nothing points at any more; a publication that is repeated supersedes nothing of its own. */
  private def superseded(before: Seq[URI], now: Seq[URI]): Seq[String] = before.diff(now).map(old => new Path(old).toString)

  /** Where what is published lies whose place, as it is before, holds the files that were said to be there. */
  private def unchanged(session: SparkSession, places: Seq[(PublishedPartition, Option[URI])]): Seq[String] = {
    val compared = places.collect { case (part, Some(old)) if part.was.nonEmpty => part -> new Path(old) }
    val states = Files.states(session, compared.map(each => Some(each._2)))
    compared.zip(states).collect { case ((part, _), state) if part.was.contains(state.fingerprint) => part.location }
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

  private def partition(table: CatalogTable, version: Long, part: PublishedPartition): CatalogTablePartition =
    CatalogTablePartition(
      part.spec,
      table.storage.copy(locationUri = Some(uri(part.location))),
      // Hive's catalog stores the statistics of an altered partition, but not those of a new one.
      parameters = Map(
        Version -> version.toString,
        "spark.sql.statistics.totalSize" -> part.bytes.toString,
        "spark.sql.statistics.numRows" -> part.rows.toString),
      stats = Some(statistics(part)))

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

  private def statistics(part: PublishedPartition): CatalogStatistics = CatalogStatistics(part.bytes, Some(part.rows))

  private def metadata(session: SparkSession, name: String): CatalogTable =
    Tables.metadata(session, Names.identifier(name)).getOrElse(throw new NoSuchTableException(Names.split(name)))

  /** A path as `Files.written` spells it, with its characters escaped as a URI wants. */
  private def uri(path: String): URI = new Path(path).toUri
}
