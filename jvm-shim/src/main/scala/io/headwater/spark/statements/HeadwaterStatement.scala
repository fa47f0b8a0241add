package io.headwater.spark

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types._
import org.json4s._

/** A Headwater statement: its text is sent to the engine and the rows of the answer are returned. */
case class HeadwaterStatement(kind: StatementKind, text: String) extends LeafRunnableCommand {
  private val columns = Answer.of(kind)
  override val output: Seq[Attribute] = columns.output

  override def run(session: SparkSession): Seq[Row] = columns.rows(Bridge.ask(session, StatementQuestion(kind, text)))
}

/** `CREATE [OR REPLACE] MATERIALIZED VIEW`, as Spark parsed and resolved it. */
case class CreateView(question: CreateQuestion) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = Answer.Result.output

  override def run(session: SparkSession): Seq[Row] = Answer.Result.rows(Bridge.ask(session, question))
}

/** The columns of an answer. */
final case class Answer(columns: (String, DataType)*) {
  def output: Seq[Attribute] = columns.map { case (name, dataType) => AttributeReference(name, dataType)() }

  def rows(told: Seq[Seq[JValue]]): Seq[Row] =
    told.map(values => Row.fromSeq(values.zip(columns).map { case (value, (_, as)) => Answer.typed(value, as) }))
}

/** What each kind of statement returns. */
object Answer {
  val Result: Answer = Answer("result" -> StringType)

  private val refreshes = Answer(
    "run_id" -> LongType, "view" -> StringType, "partition" -> StringType, "mode" -> StringType,
    "reason" -> StringType, "version" -> LongType, "rows" -> LongType, "started_at" -> TimestampType,
    "seconds" -> DoubleType, "foreseen" -> DoubleType, "core_seconds" -> DoubleType, "foreseen_core_seconds" -> DoubleType,
    "status" -> StringType, "error" -> StringType, "codes" -> StringType)

  def of(kind: StatementKind): Answer = kind match {
    case StatementKind.Alter | StatementKind.Drop => Result
    case StatementKind.Drain | StatementKind.Refresh | StatementKind.ShowRefreshes => refreshes
    case StatementKind.Verify => Answer(
      "view" -> StringType, "result" -> StringType, "missing" -> LongType, "surplus" -> LongType, "example" -> StringType)
    case StatementKind.ShowViews => Answer(
      "database" -> StringType, "view" -> StringType, "state" -> StringType, "partitions" -> LongType,
      "behind" -> LongType, "staleness" -> DoubleType, "bound" -> DoubleType, "attainable" -> DoubleType,
      "fresh_to" -> TimestampType, "refreshed_at" -> TimestampType, "reason" -> StringType, "codes" -> StringType)
    case StatementKind.Describe => Answer("name" -> StringType, "value" -> StringType, "note" -> StringType)
    case StatementKind.Explain => Answer("plan" -> StringType)
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
