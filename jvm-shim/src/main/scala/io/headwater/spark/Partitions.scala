package io.headwater.spark

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTablePartition}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.unescapePathName
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.execution.datasources.PartitioningUtils
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types.{StringType, StructType}
import org.json4s._

/** Partitions that a table's catalog lists, under the values that their names mean: `month=05` of an INT column is 5. */
private[spark] final class Partitions(session: SparkSession, table: CatalogTable) {
  import Partitions._
  import Tables.Merge

  // Not the session's own catalog, which asks the metastore for the database and the table before each list.
  private val catalog = Access.classic(session).sharedState.externalCatalog

  private def inCatalog(spec: Option[Partitions.Spec]): Seq[CatalogTablePartition] =
    catalog.listPartitions(table.database, table.identifier.table, spec)

  /**
   * @param asked a JSON list of specs, of which each may leave columns open
   * @param whole whether the others are listed, too
   */
  def state(asked: JValue, whole: Boolean): List[JField] = {
    val specs = this.specs(asked)
    val all = whole || specs.isEmpty
    val listed = if (all) inCatalog(None) else those(specs)
    val states = Files.states(session, listed.map(_.storage.locationUri.map(new Path(_))))
    found(specs, all, listed.zip(states).map { case (partition, state) =>
      val version = partition.parameters.get("headwater.version").map(v => JLong(v.toLong)).getOrElse(JNull)
      described(partition.spec, version, state)
    })
  }

  /** The same of a table that a stream writes, whose partitions no catalog lists: its files lie in directories named by them. */
  def streamed(root: Path, files: Seq[(String, FileStatus)], asked: JValue): List[JField] =
    Sinks.byPartition(files, table.partitionColumnNames) match {
      case Some(those) if table.partitionColumnNames.nonEmpty =>
        found(specs(asked), whole = true, those.toSeq.map { case (spec, files) =>
          described(spec, JNull, Files.described(Some(files.head._2.getPath.getParent), files))
        })
      case _ => List(Tables.whole(Files.described(Some(root), files)))
    }

  private def found(asked: Seq[Spec], whole: Boolean, partitions: Seq[JObject]): List[JField] = List(
    "asked" -> JArray(asked.toList.map(spec => json(canonical(spec)))),
    "whole" -> JBool(whole),
    "partitions" -> JArray(partitions.toList))

  private def described(spec: Spec, version: JValue, state: JObject): JObject = JObject(
    "values" -> json(canonical(spec)),
    "spec" -> JObject(spec.toList.sortBy(_._1).map { case (column, value) => column -> JString(value) }),
    "version" -> version) ~~ state

  private def specs(asked: JValue): Seq[Spec] = asked match {
    case JArray(some) => some.map(spelled)
    case _ => Nil
  }

  /**
   * The partitions that agree with one of some specs. They are listed as they were said, and as Spark would have written
   * them. The names of all partitions are read only for a spec that finds nothing so: its value may be spelled otherwise.
   */
  private def those(specs: Seq[Spec]): Seq[CatalogTablePartition] = {
    val spellings = specs ++ specs.map(spec => canonical(spec).map { case (column, value) => column -> value.getOrElse(Null) })
    val found = spellings.distinct.flatMap(spec => inCatalog(Some(spec))).distinctBy(_.spec)
    val values = found.map(each => canonical(each.spec))
    val missing = specs.map(canonical).filterNot(asked => values.exists(agrees(_, asked)))
    if (missing.isEmpty) found
    else {
      val names = catalog.listPartitionNames(table.database, table.identifier.table).map(PartitioningUtils.parsePathFragment)
      val others = names.filter { spec => val each = canonical(spec); missing.exists(agrees(each, _)) }
      (found ++ others.flatMap(spec => inCatalog(Some(spec)))).distinctBy(_.spec)
    }
  }

  /** The spec with the table's own spelling of its columns. */
  private def spelled(spec: JValue): Spec =
    spec.asInstanceOf[JObject].obj.map { case (column, value) =>
      val own = table.partitionColumnNames.find(_.equalsIgnoreCase(column)).getOrElse(column)
      own -> (value match { case JString(text) if text.nonEmpty => text; case _ => Null })
    }.toMap

  private def canonical(spec: Spec): Values = Partitions.canonical(table.partitionSchema, spec)

  private def json(values: Values): JObject =
    JObject(table.partitionColumnNames.toList.flatMap { column =>
      values.get(column).map(value => column -> value.map(JString(_)).getOrElse(JNull))
    })
}

private[spark] object Partitions {
  type Spec = Map[String, String]
  type Values = Map[String, Option[String]]

  val Null = "__HIVE_DEFAULT_PARTITION__"

  /**
   * Partition values as Spark itself would write them. A time is taken as it is on a clock that skips no hour: in the
   * session's zone, an hour that it skips would become the next one, which is another partition.
   */
  private def canonical(schema: StructType, spec: Spec): Values =
    schema.fields.flatMap { field =>
      spec.find(_._1.equalsIgnoreCase(field.name)).map { case (_, text) =>
        val typed = Cast(Literal(text), field.dataType, Clock, ansiEnabled = false)
        val value = Option(Cast(typed, StringType, Clock, ansiEnabled = false).eval()).map(_.toString)
        field.name -> value.filter(_ => text != null && text != Null)
      }
    }.toMap

  private val Clock = Some("UTC")

  /** The spec that directories named `column=value` say, if they are of just these columns. */
  def parsed(directories: Seq[String], columns: Seq[String]): Option[Spec] = {
    val found = directories.map(_.split("=", 2)).collect { case Array(column, value) =>
      unescapePathName(column) -> unescapePathName(value)
    }
    val own = found.flatMap { case (column, value) => columns.find(_.equalsIgnoreCase(column)).map(_ -> value) }.toMap
    Option.when(directories.size == columns.size && own.size == columns.size)(own)
  }

  private def agrees(values: Values, asked: Values): Boolean =
    asked.forall { case (column, value) => values.get(column).contains(value) }
}
