package io.headwater.spark

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchTableException}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.connector.catalog.{Table, TableCatalog}
import org.apache.spark.sql.headwater.Access

/**
 * Tables of a format that says itself which rows there are, and all tables of other catalogs than the session's.
 *
 * Spark's catalogs tell their format and their properties. The engine asks all else of the format's own classes, which the
 * shim does not know.
 */
private[spark] object LakeTables extends TableFormat {
  override val name = "lake"

  override def identify(known: Lookup, name: Name): Boolean = name match {
    case table: TableName => table.identifier.forall(known(_).fold(mixes(known.session))(each => of(each).nonEmpty))
    case _ => false
  }

  /** The format of a table that is there. */
  def format(known: Lookup, name: TableName): Option[String] =
    if (name.identifier.isEmpty || mixes(known.session)) load(known.session, name).map(formatOf)
    else known(name.identifier.get).map(named)

  /** Whether this application can read a format. */
  def has(format: String): Boolean = Format.of(format).forall(has)

  private def has(format: Format): Boolean = !format.ownClasses || loader(format).nonEmpty

  /** The loader of a format's own classes: those of `--jars` have another one than Spark's. */
  private[spark] def loader(format: Format): Option[ClassLoader] =
    Seq(getClass.getClassLoader, Thread.currentThread.getContextClassLoader).filter(_ != null)
      .flatMap(each => Try(Class.forName(format.needs, false, each).getClassLoader).toOption).headOption

  /** What is told of such a table is its format only, for whoever took it for a table of files. */
  override def look(session: SparkSession, known: Lookup, asked: Asked): Looked =
    format(known, Names.table(asked.table)) match {
      case None => Missing(asked.table)
      case Some(other) if has(other) => Fact(asked.table, kind = other, created = 0, schema = other, whole = false)
      case Some(other) => Unreadable(asked.table, Format.of(other).fold(other)(each => s"it is a table of ${lacking(each)}"))
    }

  private def lacking(format: Format): String =
    s"${format.title}, which this application lacks; add ${format.artifact} to spark.jars.packages"

  override def renew(session: SparkSession, name: Name): Unit = name match {
    case table: TableName => catalog(session, table).invalidateTable(table.within)
    case other => throw new IllegalArgumentException(s"not a table: $other")
  }

  /** A table as its catalog has it now, whoever changed it. */
  def load(session: SparkSession, name: TableName): Option[Table] = {
    val tables = catalog(session, name)
    tables.invalidateTable(name.within) // some catalogs keep the tables that they loaded
    try Some(tables.loadTable(name.within))
    catch {
      case _: NoSuchTableException | _: NoSuchDatabaseException => // or no such namespace
        Catalogs.requireDirectory(session, name.catalog)
        None
    }
  }

  /** The same for the engine: null if there is none of that name. */
  def loaded(session: SparkSession, key: String): Table = load(session, Names.table(key)).orNull

  def properties(table: Table): Map[String, String] =
    Access.entry(table).fold(table.properties.asScala.toMap)(_.properties)

  /** @throws org.apache.spark.SparkException when the session knows no such catalog, or lacks its classes */
  def catalog(session: SparkSession, name: TableName): TableCatalog = {
    Access.activate(session)
    Catalogs.maker(session, name.catalog).filterNot(has)
      .foreach(each => throw new SparkException(s"the catalog ${name.catalog} is one of ${lacking(each)}"))
    Access.classic(session).sessionState.catalogManager.catalog(name.catalog) match {
      case tables: TableCatalog => tables
      case other => throw new IllegalArgumentException(s"the catalog ${other.name} has no tables")
    }
  }

  /** The lake format of a table of the session catalog; none of one that Spark lists the files of, and of an ordinary view. */
  def of(table: CatalogTable): Option[Format] = {
    val told = table.provider.toSeq ++ table.properties.get("table_type")
    Some(table).filter(_.tableType != CatalogTableType.VIEW).flatMap(_ => told.flatMap(Format.of).find(_.ownClasses))
  }

  private def formatOf(table: Table): String = Access.entry(table).fold(
    lower(Option(table.properties.get(TableCatalog.PROP_PROVIDER)).getOrElse(FileFormats.simple(table))))(
    named)

  private def named(table: CatalogTable): String = of(table).fold(FileTables.name)(_.name)

  /** Whether another catalog takes the session catalog's place and has tables that the metastore does not know. */
  private[spark] def mixes(session: SparkSession): Boolean = Catalogs.maker(session, Names.SessionCatalog).nonEmpty

  private def lower(text: String): String = text.toLowerCase(Locale.ROOT)
}
