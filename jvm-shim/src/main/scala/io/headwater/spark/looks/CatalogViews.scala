package io.headwater.spark

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, ExternalCatalog}
import org.apache.spark.sql.connector.catalog.{Identifier, SupportsNamespaces, TableCatalog}
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.hive.headwater.Metastore
import org.slf4j.LoggerFactory

/** The materialized views that the catalogs of a session hold, each with the properties that define it. */
object CatalogViews {
  private val log = LoggerFactory.getLogger("io.headwater")

  /** Every view of the session catalog and of catalogs of formats: a JSON list of [[CatalogView]]. */
  def all(session: SparkSession): String = {
    val own = ofSession(session)
    val elsewhere = Catalogs.made(session) ++ Option.when(Catalogs.keepsElsewhere(session))(Names.SessionCatalog)
    val others = elsewhere.flatMap(ofCatalog(session, _))
    Wire.encode((own ++ others).distinctBy(_.table))
  }

  /**
   * Names the owner of a table in the metastore's entry, too. Where a format keeps the properties of tables in their logs,
   * these are too many to look into.
   */
  def mark(session: SparkSession, key: String, owner: String): Unit = {
    val (catalog, name) = (Access.classic(session).sharedState.externalCatalog, Names.identifier(key))
    Own.expect(name.database.get, name.table)
    val entry = catalog.getTable(name.database.get, name.table)
    catalog.alterTable(entry.copy(properties = entry.properties + (Publication.Owner -> owner)))
  }

  private def ofSession(session: SparkSession): Seq[CatalogView] = {
    val catalog = Access.classic(session).sharedState.externalCatalog
    catalog.listDatabases().flatMap { database =>
      entries(catalog, database).flatMap(entry => view(session, database, entry))
    }
  }

  /** The tables of a database; one that Spark cannot read, such as an index of Hive, hides no other. */
  private def entries(catalog: ExternalCatalog, database: String): Seq[CatalogTable] = {
    val names = catalog.listTables(database)
    // An error of the metastore itself stays one: a view that is not found then would count as dropped.
    try catalog.getTablesByName(database, names)
    catch { case NonFatal(error) if !Metastore.failed(error) =>
      names.flatMap { name =>
        try Some(catalog.getTable(database, name))
        catch { case NonFatal(error) if !Metastore.failed(error) =>
          log.warn(s"$database.$name is no view of Headwater's, for Spark cannot read its entry: ${Failures.line(error)}")
          None
        }
      }
    }
  }

  private def view(session: SparkSession, database: String, entry: CatalogTable): Option[CatalogView] = {
    val name = TableName(Names.SessionCatalog, Seq(database), entry.identifier.table)
    if (LakeTables.of(entry).isEmpty) told(name, entry.createTime, entry.properties)
    else if (!entry.properties.contains(Publication.Owner)) None
    else reached(name.key)(LakeTables.load(session, name).map(LakeTables.properties)).flatten
      .flatMap(told(name, entry.createTime, _))
  }

  private def ofCatalog(session: SparkSession, catalog: String): Seq[CatalogView] =
    reached(s"the catalog $catalog") {
      val tables = Catalogs.behind(LakeTables.catalog(session, TableName(catalog, Nil, "")))
      for {
        namespace <- namespaces(tables)
        table <- listed(tables, namespace)
        found <- reached(Names.key(catalog, table))(view(session, catalog, table)).flatten
      } yield found
    }.getOrElse(Nil)

  /** Most catalogs hold no table outside of a namespace, and refuse to be asked for one. */
  private def listed(catalog: TableCatalog, namespace: Seq[String]): Seq[Identifier] =
    try catalog.listTables(namespace.toArray).toSeq
    catch { case _: IllegalArgumentException | _: NoSuchNamespaceException if namespace.isEmpty => Nil }

  private def view(session: SparkSession, catalog: String, table: Identifier): Option[CatalogView] = {
    val name = TableName(catalog, table.namespace.toSeq, table.name)
    LakeTables.load(session, name).flatMap(found => told(name, 0, LakeTables.properties(found)))
  }

  private def told(name: TableName, created: Long, properties: Map[String, String]): Option[CatalogView] =
    Option.when(properties.contains(Views.Marker))(CatalogView(name.key, created, Tables.own(properties)))

  /** All namespaces of a catalog, those within others too; the empty one first. */
  private def namespaces(catalog: TableCatalog): Seq[Seq[String]] = catalog match {
    case named: SupportsNamespaces =>
      def below(namespace: Seq[String]): Seq[Seq[String]] =
        namespace +: named.listNamespaces(namespace.toArray).toSeq.flatMap(each => below(each.toSeq))
      below(Nil)
    case _ => Seq(Nil)
  }

  /** The answer of a catalog; none if it does not answer. One catalog that cannot be reached hides no view of another. */
  private def reached[T](what: String)(ask: => T): Option[T] =
    try Some(ask)
    catch {
      case NonFatal(error) =>
        log.warn(s"no views are looked for in $what, which does not answer: ${Failures.line(error)}")
        None
    }
}
