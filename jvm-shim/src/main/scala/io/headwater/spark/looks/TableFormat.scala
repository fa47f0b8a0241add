package io.headwater.spark

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.CatalogTable

/** Tables of one kind, which the engine reads. Each format is one implementation, known to [[TableFormats]]. */
private[spark] trait TableFormat {
  def name: String

  /** Whether a table is of this format. */
  def identify(known: Lookup, name: Name): Boolean

  /** A table as it is now, as a query through the catalog would find it. */
  def look(session: SparkSession, known: Lookup, asked: Asked): Looked

  /** Lets the next queries of a session see a table as it is now, whoever changed it. */
  def renew(session: SparkSession, name: Name): Unit
}

/** A format that views can have. */
private[spark] trait ViewFormat extends TableFormat {

  /** Makes readers see what was written before, whole or not at all, unless a higher version is published. */
  def publish(session: SparkSession, request: PublicationRequest): PublicationAnswer

  /** Deletes superseded places of a view. */
  def expire(session: SparkSession, root: String, owner: String, places: Seq[String]): Unit
}

/** All formats. A table is of the first one that knows it; the last one takes all others. */
private[spark] object TableFormats {
  private val all: Seq[TableFormat] = Seq(Paths, LakeTables, FileTables)

  /** The format of views. */
  val ofViews: ViewFormat = FileTables

  def of(known: Lookup, name: Name): TableFormat = all.find(_.identify(known, name)).getOrElse(FileTables)

  /**
   * The format of a table: `files`, `path`, `delta`, `iceberg`, or what else its catalog says. Empty when there is no such
   * table, or nobody can tell now: then a look says why.
   */
  def name(session: SparkSession, key: String): String = {
    val name = Names.named(key)
    val known = Lookup.of(session, Seq(name))
    val found = try format(known, name) catch { case NonFatal(_) => None }
    found.filter(LakeTables.has).getOrElse("")
  }

  private def format(known: Lookup, name: Name): Option[String] = name match {
    case table: TableName => LakeTables.format(known, table)
    case PathName(path) => FileFormats.owned(known.session, new Path(path)).filter(LakeTables.has).orElse(Some(Paths.name))
    case FunctionName(_) => None
  }
}

/** The session catalog's entries of several tables, asked for together. Where that fails, each is asked for alone. */
private[spark] final case class Lookup(session: SparkSession, identifiers: Seq[TableIdentifier]) {
  private lazy val together = Try(Tables.metadata(session, identifiers)).toOption

  def apply(identifier: TableIdentifier): Option[CatalogTable] =
    together.fold(Tables.metadata(session, identifier))(_.get(identifier))
}

private[spark] object Lookup {
  def of(session: SparkSession, names: Seq[Name]): Lookup =
    Lookup(session, names.collect { case table: TableName => table }.flatMap(_.identifier))
}
