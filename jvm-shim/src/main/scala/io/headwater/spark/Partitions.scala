package io.headwater.spark

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTablePartition}
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.execution.datasources.PartitioningUtils
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types.{StringType, StructType}
import org.json4s._

/** Partitions that a table's catalog lists, under the values that their names mean: `month=05` of an INT column is 5. */
private[spark] final class Partitions(session: SparkSession, table: CatalogTable) {
  import Partitions._
  import Tables.Merge

  private val catalog = Access.classic(session).sessionState.catalog

  /**
   * @param asked a JSON list of specs, of which each may leave columns open
   * @param whole whether the others are listed, too
   */
  def state(asked: JValue, whole: Boolean): List[(String, JValue)] = {
    val specs = asked match {
      case JArray(some) => some.map(spelled)
      case _ => Nil
    }
    val all = whole || specs.isEmpty
    val listed = if (all) catalog.listPartitions(table.identifier) else those(specs)
    val states = Files.states(session, listed.map(_.storage.locationUri.map(new Path(_))))
    List(
      "asked" -> JArray(specs.map(spec => json(canonical(spec)))),
      "whole" -> JBool(all),
      "partitions" -> JArray(listed.zip(states).map { case (partition, state) =>
        JObject(
          "values" -> json(canonical(partition.spec)),
          "spec" -> JObject(partition.spec.toList.sortBy(_._1).map { case (column, value) => column -> JString(value) }),
          "version" -> partition.parameters.get("headwater.version").map(v => JLong(v.toLong)).getOrElse(JNull)) ~~ state
      }.toList))
  }

  /**
   * The partitions that agree with one of some specs. They are listed as they were said, and as Spark would have written
   * them. The names of all partitions are read only for a spec that finds nothing so: its value may be spelled otherwise.
   */
  private def those(specs: Seq[Spec]): Seq[CatalogTablePartition] = {
    val spellings = specs ++ specs.map(spec => canonical(spec).map { case (column, value) => column -> value.getOrElse(Null) })
    val found = spellings.distinct.flatMap(spec => catalog.listPartitions(table.identifier, Some(spec))).distinctBy(_.spec)
    val values = found.map(each => canonical(each.spec))
    val missing = specs.map(canonical).filterNot(asked => values.exists(agrees(_, asked)))
    if (missing.isEmpty) found
    else {
      val names = catalog.listPartitionNames(table.identifier).map(PartitioningUtils.parsePathFragment)
      val others = names.filter { spec => val each = canonical(spec); missing.exists(agrees(each, _)) }
      (found ++ others.flatMap(spec => catalog.listPartitions(table.identifier, Some(spec)))).distinctBy(_.spec)
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

  private def agrees(values: Values, asked: Values): Boolean =
    asked.forall { case (column, value) => values.get(column).contains(value) }
}
