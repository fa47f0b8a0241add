package io.headwater.spark

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types._
import org.json4s._

/** A Headwater statement: its text is sent to the engine and the rows of the answer are returned. */
case class HeadwaterStatement(kind: String, text: String) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = Answer.columns(kind)

  override def run(session: SparkSession): Seq[Row] =
    Answer.rows(kind, Bridge.ask(session, "statement", JObject("kind" -> JString(kind), "text" -> JString(text))))
}

/** `CREATE [OR REPLACE] MATERIALIZED VIEW`, as Spark parsed and resolved it. */
case class CreateView(body: JObject) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = Answer.columns("create")

  override def run(session: SparkSession): Seq[Row] =
    Answer.rows("create", Bridge.ask(session, "create", body))
}

/** What each kind of statement returns. */
object Answer {
  private val refreshes = Seq(
    "run_id" -> LongType, "view" -> StringType, "partition" -> StringType, "mode" -> StringType,
    "reason" -> StringType, "version" -> LongType, "rows" -> LongType, "started_at" -> TimestampType,
    "seconds" -> DoubleType, "status" -> StringType, "error" -> StringType)

  private val schemas: Map[String, Seq[(String, DataType)]] = Map(
    "create" -> Seq("result" -> StringType),
    "alter" -> Seq("result" -> StringType),
    "drop" -> Seq("result" -> StringType),
    "drain" -> refreshes,
    "refresh" -> refreshes,
    "show_refreshes" -> refreshes,
    "show_views" -> Seq(
      "database" -> StringType, "view" -> StringType, "state" -> StringType, "partitions" -> LongType,
      "behind" -> LongType, "refreshed_at" -> TimestampType, "reason" -> StringType),
    "describe" -> Seq("name" -> StringType, "value" -> StringType, "note" -> StringType),
    "explain" -> Seq("plan" -> StringType))

  def columns(kind: String): Seq[Attribute] =
    schemas(kind).map { case (name, dataType) => AttributeReference(name, dataType)() }

  def rows(kind: String, answer: JValue): Seq[Row] = {
    val types = schemas(kind).map(_._2)
    (answer \ "rows") match {
      case JArray(rows) => rows.map {
        case JArray(values) => Row.fromSeq(values.zip(types).map { case (value, as) => typed(value, as) })
        case other => throw new IllegalStateException(s"a row of an answer is not an array: $other")
      }
      case _ => Nil
    }
  }

  private def typed(value: JValue, as: DataType): Any = (value, as) match {
    case (JNull | JNothing, _) => null
    case (JString(text), StringType) => text
    case (JInt(number), LongType) => number.toLong
    case (JInt(number), DoubleType) => number.toDouble
    case (JDouble(number), DoubleType) => number
    case (JInt(millis), TimestampType) => new java.sql.Timestamp(millis.toLong)
    case (other, _) => throw new IllegalStateException(s"$other does not fit the column type ${as.sql}")
  }
}
