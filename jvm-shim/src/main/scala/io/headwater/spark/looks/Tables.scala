package io.headwater.spark

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException, NoSuchTableException}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, ExternalCatalog}
import org.apache.spark.sql.catalyst.util.{quoteIdentifier, CharVarcharUtils}
import org.apache.spark.sql.headwater.Access

/** Tables, paths and functions as the engine asks for them, whatever their format. */
object Tables {
  /**
   * @param asked a JSON list of [[Asked]]
   * @return a JSON list of [[Looked]], in the same order
   */
  def observe(session: SparkSession, asked: String): String = {
    val all = Wire.decode[List[Asked]](asked)
    val names = all.map(each => Names.named(each.table))
    val known = Lookup.of(session, names)
    Wire.encode(all.zip(names).map { case (each, name) =>
      try looked(session, known, name, each)
      catch { case NonFatal(error) => Unreadable(each.table, Failures.line(error)) }
    })
  }

  private def looked(session: SparkSession, known: Lookup, name: Name, asked: Asked): Looked = name match {
    case FunctionName(identifier) => Functions.look(session, asked.table, identifier)
    case _ => TableFormats.of(known, name).look(session, known, asked)
  }

  /**
   * A table as the catalog has it. That is one call: a session's own catalog asks for the database and for the table first,
   * and such a call takes a metastore milliseconds.
   */
  def metadata(session: SparkSession, identifier: TableIdentifier): Option[CatalogTable] =
    metadata(session, Seq(identifier)).values.headOption

  /** The same of a key; none where it names no table of the session catalog. */
  private[spark] def metadata(session: SparkSession, key: String): Option[CatalogTable] = Names.named(key) match {
    case name: TableName => name.identifier.flatMap(metadata(session, _))
    case _ => None
  }

  /** Those of these tables that there are: one call for each database, unless only one table of it is asked for. */
  def metadata(session: SparkSession, identifiers: Seq[TableIdentifier]): Map[TableIdentifier, CatalogTable] = {
    val classic = Access.classic(session)
    val qualified = identifiers.map(each => each -> classic.sessionState.catalog.qualifyIdentifier(each))
    qualified.groupBy(_._2.database.get).flatMap { case (database, asked) =>
      val found = asked.map(_._2.table).distinct match {
        case Seq(one) => single(classic.sharedState.externalCatalog, database, one)
        case _ if !classic.sharedState.externalCatalog.databaseExists(database) => Nil
        case several => classic.sharedState.externalCatalog.getTablesByName(database, several)
      }
      val byName = found.map(table => table.identifier.table -> table).toMap
      asked.flatMap { case (identifier, full) =>
        byName.get(full.table).map { table =>
          identifier -> table.copy(
            identifier = table.identifier.copy(catalog = full.catalog),
            schema = CharVarcharUtils.replaceCharVarcharWithStringInSchema(table.schema))
        }
      }
    }
  }

  private def single(catalog: ExternalCatalog, database: String, table: String): Seq[CatalogTable] =
    try Seq(catalog.getTable(database, table))
    catch {
      case _: NoSuchNamespaceException | _: NoSuchDatabaseException | _: NoSuchTableException => Nil
    }

  /** Who owns a table, by its property: empty for one that is no view's; `null` when there is none of that name. */
  def owner(session: SparkSession, name: String): String =
    properties(session, Names.table(name)).map(_.getOrElse(Publication.Owner, "")).orNull

  /** The properties of a table, wherever its format keeps them; none when there is no table of that name. */
  private[spark] def properties(session: SparkSession, name: TableName): Option[Map[String, String]] =
    if (LakeTables.identify(Lookup.of(session, Seq(name)), name)) LakeTables.load(session, name).map(LakeTables.properties)
    else metadata(session, name.identifier.get).map(_.properties)

  /**
   * Gives a table another name in its database. Spark's own statement takes names apart without their backticks, so that it
   * refuses one that is a number.
   */
  def rename(session: SparkSession, from: String, to: String): Unit = {
    val (old, made) = (Names.table(from), Names.table(to))
    if (old.identifier.isEmpty || LakeTables.mixes(session)) LakeTables.catalog(session, old).renameTable(old.within, made.within)
    else {
      Access.classic(session).sharedState.externalCatalog.renameTable(old.namespace.head, old.name, made.name)
      Access.classic(session).sessionState.catalog.refreshTable(old.identifier.get)
    }
  }

  /** Where the tables of a database lie. */
  def home(session: SparkSession, database: String): String =
    new Path(Access.classic(session).sharedState.externalCatalog.getDatabase(database).locationUri).toString

  /**
   * Lets the next queries of a session see tables, views, paths and functions as they are now, whoever changed them.
   * @param names a JSON list of keys
   */
  def renew(session: SparkSession, names: String): Unit = {
    val keys = Wire.decode[List[String]](names).map(Names.named)
    val known = Lookup.of(session, keys)
    keys.foreach {
      case FunctionName(identifier) => Functions.renew(session, identifier)
      case name => TableFormats.of(known, name).renew(session, name)
    }
  }

  /**
   * Lets no session read what `CACHE TABLE`, or `cache`, held of a table before. What held the table itself holds its new rows
   * then, if Spark knows the table again: one of files lies elsewhere, one of Iceberg has another snapshot. All else leaves.
   */
  def recache(session: SparkSession, key: String): Unit = {
    val (classic, name) = (Access.classic(session), Names.table(key))
    val held = classic.sharedState.cacheManager
    if (!held.isEmpty) UncachedFiles.asUsersDo {
      val parts = (name.catalog +: name.namespace) :+ name.name
      val now = classic.table(parts.map(quoteIdentifier).mkString("."))
      val kept = held.lookupCachedData(now).map(_.cachedRepresentation.cacheBuilder)
      held.uncacheTableOrView(classic, parts, cascade = true)
      kept.foreach(each => held.cacheQuery(now, each.tableName, each.storageLevel))
    }
  }

  /** The properties of a table that are Headwater's. */
  private[spark] def own(properties: Map[String, String]): Map[String, String] =
    properties.filter { case (key, _) => Views.owns(key) }
}
