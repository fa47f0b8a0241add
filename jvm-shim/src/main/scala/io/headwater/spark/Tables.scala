package io.headwater.spark

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException, NoSuchTableException}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType, ExternalCatalog}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.headwater.Access
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** The state of tables as a query through the catalog would find it, as facts for the engine. */
object Tables {
  /**
   * @param asked a JSON list of {"table": key, "partitions": [{column: value}] or null, "whole": bool}; with partitions, only
   *   those (or those that agree with a partial one) are listed, unless `whole`
   * @return a JSON list of what was found, in the same order; what cannot be looked at is `unreadable`, with the reason
   */
  def observe(session: SparkSession, asked: String): String = {
    val entries = parse(asked).asInstanceOf[JArray].arr
    val names = entries.map(entry => Names.named((entry \ "table").asInstanceOf[JString].s))
    val known = Lookup(session, names.collect { case TableName(identifier) => identifier })
    compact(render(JArray(entries.zip(names).map { case (entry, name) =>
      val key = "table" -> (entry \ "table")
      try JObject(key :: looked(session, name, known, entry))
      catch { case NonFatal(error) => JObject(key, "unreadable" -> JString(Failures.said(error))) }
    })))
  }

  private def looked(session: SparkSession, name: Name, known: Lookup, asked: JValue): List[JField] = name match {
    case TableName(identifier) => table(session, known(identifier), asked)
    case PathName(path) => directory(session, path)
    case FunctionName(identifier) => Functions.look(session, identifier)
  }

  private def table(session: SparkSession, found: Option[CatalogTable], asked: JValue): List[JField] = {
    found.fold(List[JField]("exists" -> JBool(false))) { meta =>
      val common = List[JField](
        "exists" -> JBool(true),
        "kind" -> JString(if (meta.tableType == CatalogTableType.VIEW) "view" else "table"),
        "created" -> JLong(meta.createTime),
        "schema" -> JString((meta.schema.json +: (meta.viewText ++ format(session, meta)).toSeq).mkString(" ")),
        "location" -> meta.storage.locationUri.map(uri => JString(new Path(uri).toString)).getOrElse(JNull),
        "properties" -> JObject(meta.properties.toList.collect {
          case (key, value) if key.startsWith("headwater.") => key -> JString(value)
        }))
      if (meta.tableType == CatalogTableType.VIEW) common :+ ("partitions" -> JArray(Nil))
      else common ++ contents(session, meta, asked)
    }
  }

  /** What a table is made of: another format is not read, or not followed, as the one before. */
  private def format(session: SparkSession, meta: CatalogTable): Option[String] =
    meta.storage.locationUri.flatMap(uri => belonging(session, new Path(uri))).orElse(meta.provider)

  private def belonging(session: SparkSession, directory: Path): Option[String] =
    FileFormats.owned(Access.classic(session).sessionState.newHadoopConf(), directory)

  private def contents(session: SparkSession, meta: CatalogTable, asked: JValue): List[(String, JValue)] = {
    val columns = "partition_columns" -> JArray(meta.partitionSchema.fields.map { field =>
      JObject("name" -> JString(field.name), "type" -> JString(field.dataType.sql))
    }.toList)
    val root = meta.storage.locationUri.map(new Path(_))
    val streamed = if (isHive(meta)) None else root.flatMap(Sinks.files(session, _, Some(meta.schema)))
    val partitions = new Partitions(session, meta)
    val found = streamed match {
      case Some(files) => partitions.streamed(root.get, files, asked \ "partitions")
      case None if meta.partitionColumnNames.nonEmpty && inCatalog(meta) =>
        partitions.state(asked \ "partitions", asked \ "whole" == JBool(true))
      case None if isHive(meta) => List(whole(root.fold(Files.state(session, None))(Sinks.stateOfHive(session, _))))
      case None => List(whole(root.fold(Files.state(session, None))(Files.stateOf(session, _))))
    }
    columns :: found
  }

  private def inCatalog(meta: CatalogTable): Boolean =
    meta.tracksPartitionsInCatalog || isHive(meta)

  private def isHive(meta: CatalogTable): Boolean = meta.provider.contains("hive")

  /** The only partition of what has no partition columns. */
  private[spark] def whole(state: JObject): JField =
    "partitions" -> JArray(List(JObject("values" -> JObject(), "spec" -> JObject()) ~~ state))

  private def directory(session: SparkSession, path: String): List[JField] = {
    val place = new Path(path)
    val state = Sinks.files(session, place).fold(Files.stateOf(session, place))(Files.described(Some(place), _))
    List("exists" -> JBool(true), "kind" -> JString("path"), "created" -> JLong(0),
      "schema" -> JString(belonging(session, place).getOrElse("")), "partition_columns" -> JArray(Nil), whole(state))
  }

  /**
   * A table as the catalog has it. That is one call: a session's own catalog asks for the database and for the table first,
   * and such a call takes a metastore milliseconds.
   */
  def metadata(session: SparkSession, identifier: TableIdentifier): Option[CatalogTable] =
    metadata(session, Seq(identifier)).values.headOption

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

  /** The catalog's entries of several tables, asked for together. Where that fails, each is asked for alone. */
  private final case class Lookup(session: SparkSession, identifiers: Seq[TableIdentifier]) {
    private val together = Try(metadata(session, identifiers)).toOption

    def apply(identifier: TableIdentifier): Option[CatalogTable] =
      together.fold(metadata(session, identifier))(_.get(identifier))
  }

  /** Who owns a table, by its property: empty for one that is no view's; `null` when there is none of that name. */
  def owner(session: SparkSession, name: String): String =
    metadata(session, Names.table(name)).map(_.properties.getOrElse(Publication.Owner, "")).orNull

  /**
   * Gives a table another name in its database. Spark's own statement takes names apart without their backticks, so that it
   * refuses one that is a number.
   */
  def rename(session: SparkSession, from: String, to: String): Unit = {
    val (old, made) = (Names.table(from), Names.table(to))
    Access.classic(session).sharedState.externalCatalog.renameTable(old.database.get, old.table, made.table)
    Access.classic(session).sessionState.catalog.refreshTable(old)
  }

  /** Where the tables of a database lie. */
  def home(session: SparkSession, database: String): String =
    new Path(Access.classic(session).sharedState.externalCatalog.getDatabase(database).locationUri).toString

  /**
   * Lets the next queries of a session see tables, views, paths and functions as they are now, whoever changed them. To
   * have Spark refresh a table means to analyse it first, which is needed only for what it caches.
   * @param names a JSON list of keys
   */
  def renew(session: SparkSession, names: String): Unit =
    parse(names).asInstanceOf[JArray].arr.foreach(name => renewed(session, name.values.toString))

  private[spark] def renewed(session: SparkSession, name: String): Unit = {
    val classic = Access.classic(session)
    Names.named(name) match {
      case PathName(path) => classic.catalog.refreshByPath(path)
      case FunctionName(identifier) => Functions.renew(session, identifier)
      case TableName(table) if classic.sharedState.cacheManager.isEmpty => classic.sessionState.catalog.refreshTable(table)
      case TableName(table) => classic.catalog.refreshTable(table.quotedString)
    }
  }

  /** Every materialized view the session catalog holds, with its Headwater properties. */
  def views(session: SparkSession): String = {
    val catalog = Access.classic(session).sharedState.externalCatalog
    val found = catalog.listDatabases().flatMap { database =>
      catalog.getTablesByName(database, catalog.listTables(database)).filter(Views.is).map { meta =>
        JObject(
          "table" -> JString(Names.key(Seq(database, meta.identifier.table))), "created" -> JLong(meta.createTime),
          "properties" -> JObject(meta.properties.toList.collect {
            case (key, value) if key.startsWith("headwater.") => key -> JString(value)
          }))
      }
    }
    compact(render(JArray(found.toList)))
  }

  private[spark] implicit class Merge(left: JObject) {
    def ~~(right: JObject): JObject = JObject(left.obj ++ right.obj)
  }
}
