package io.headwater.spark

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException, NoSuchTableException}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTablePartition, CatalogTableType, ExternalCatalog}
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types.{StringType, StructType}
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** The state of tables as a query through the catalog would find it, as facts for the engine. */
object Tables {
  private val NullPartition = "__HIVE_DEFAULT_PARTITION__"

  /**
   * @param asked a JSON list of {"table": key, "partitions": [{column: value}] or null}; with partitions, only those (or
   *   those that agree with a partial one) are listed
   * @return a JSON list of what was found, in the same order; what cannot be looked at is `unreadable`, with the reason
   */
  def observe(session: SparkSession, asked: String): String = {
    val entries = parse(asked).asInstanceOf[JArray].arr
    val names = entries.map(entry => Names.named((entry \ "table").asInstanceOf[JString].s))
    val known = Lookup(session, names.collect { case TableName(identifier) => identifier })
    compact(render(JArray(entries.zip(names).map { case (entry, name) =>
      val key = "table" -> (entry \ "table")
      try JObject(key :: looked(session, name, known, entry \ "partitions"))
      catch { case NonFatal(error) => JObject(key, "unreadable" -> JString(Failures.said(error))) }
    })))
  }

  private def looked(session: SparkSession, name: Name, known: Lookup, partitions: JValue): List[JField] = name match {
    case TableName(identifier) => table(session, known(identifier), partitions)
    case PathName(path) => directory(session, path)
    case FunctionName(identifier) => Functions.look(session, identifier)
  }

  private def table(session: SparkSession, found: Option[CatalogTable], partitions: JValue): List[JField] = {
    found.fold(List[JField]("exists" -> JBool(false))) { meta =>
      val common = List[JField](
        "exists" -> JBool(true),
        "kind" -> JString(if (meta.tableType == CatalogTableType.VIEW) "view" else "table"),
        "created" -> JLong(meta.createTime),
        "schema" -> JString(meta.schema.json + meta.viewText.getOrElse("")),
        "location" -> meta.storage.locationUri.map(uri => JString(new Path(uri).toString)).getOrElse(JNull),
        "properties" -> JObject(meta.properties.toList.collect {
          case (key, value) if key.startsWith("headwater.") => key -> JString(value)
        }))
      if (meta.tableType == CatalogTableType.VIEW) common :+ ("partitions" -> JArray(Nil))
      else common ++ contents(session, meta, partitions)
    }
  }

  private def contents(session: SparkSession, meta: CatalogTable, partitions: JValue): List[(String, JValue)] = {
    val columns = "partition_columns" -> JArray(meta.partitionSchema.fields.map { field =>
      JObject("name" -> JString(field.name), "type" -> JString(field.dataType.sql))
    }.toList)
    if (meta.partitionColumnNames.isEmpty || !inCatalog(session, meta)) {
      val whole = JObject("values" -> JObject(), "spec" -> JObject()) ~~ Files.state(session, meta.storage.locationUri.map(new Path(_)))
      List(columns, "partitions" -> JArray(List(whole)))
    } else {
      val catalog = Access.classic(session).sessionState.catalog
      val zone = Access.classic(session).sessionState.conf.sessionLocalTimeZone
      val (specs, listed) = partitions match {
        case JArray(some) if some.nonEmpty =>
          val specs = some.map(spec => named(meta, spec))
          // As it was said, and as Spark would have written it.
          val spellings = specs ++ specs.map(spec => named(meta, canonical(meta.partitionSchema, spec, zone)))
          (specs, spellings.distinct.flatMap(spec => catalog.listPartitions(meta.identifier, Some(spec))).distinctBy(_.spec))
        case _ => (Nil, catalog.listPartitions(meta.identifier))
      }
      val states = Files.states(session, listed.map(_.storage.locationUri.map(new Path(_))))
      List(
        columns,
        "asked" -> JArray(specs.map(spec => canonical(meta.partitionSchema, spec, zone))),
        "partitions" -> JArray(listed.zip(states).map { case (partition, state) =>
          JObject(
            "values" -> canonical(meta.partitionSchema, partition.spec, zone),
            "spec" -> strings(partition.spec),
            "version" -> partition.parameters.get("headwater.version").map(v => JLong(v.toLong)).getOrElse(JNull)) ~~ state
        }.toList))
    }
  }

  private def inCatalog(session: SparkSession, meta: CatalogTable): Boolean =
    meta.tracksPartitionsInCatalog || meta.provider.contains("hive")

  private def directory(session: SparkSession, path: String): List[JField] = {
    val state = Files.state(session, Some(new Path(path)))
    List("exists" -> JBool(true), "kind" -> JString("path"), "created" -> JLong(0),
      "schema" -> JString(""), "partition_columns" -> JArray(Nil),
      "partitions" -> JArray(List(JObject("values" -> JObject(), "spec" -> JObject()) ~~ state)))
  }

  /** The spec with the table's own spelling of its columns. */
  private def named(meta: CatalogTable, spec: JValue): Map[String, String] =
    spec.asInstanceOf[JObject].obj.map { case (column, value) =>
      val own = meta.partitionColumnNames.find(_.equalsIgnoreCase(column)).getOrElse(column)
      own -> (value match { case JString(text) => text; case _ => NullPartition })
    }.toMap

  /** Partition values as Spark itself would write them: `05` of an INT column is `5`. */
  private def canonical(schema: StructType, spec: Map[String, String], zone: String): JObject =
    JObject(schema.fields.toList.flatMap { field =>
      spec.find(_._1.equalsIgnoreCase(field.name)).map { case (_, text) =>
        val value =
          if (text == null || text == NullPartition) JNull
          else {
            val typed = Cast(Literal(text), field.dataType, Some(zone), ansiEnabled = false)
            Option(Cast(typed, StringType, Some(zone), ansiEnabled = false).eval()).map(v => JString(v.toString)).getOrElse(JNull)
          }
        field.name -> value
      }
    })

  private def strings(spec: Map[String, String]): JObject =
    JObject(spec.toList.sortBy(_._1).map { case (column, value) => column -> JString(value) })

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
