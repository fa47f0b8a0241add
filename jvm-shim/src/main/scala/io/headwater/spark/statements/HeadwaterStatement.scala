package io.headwater.spark

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types._
import org.json4s._

/** A statement that the engine has not answered yet. Only the answer says which columns it has. */
case class AskedStatement(question: Question) extends LeafNode {
  override lazy val resolved: Boolean = false
  override def output: Seq[Attribute] = Nil
}

/**
 * Asks the engine while Spark analyses a statement: a plan needs its columns then, and only the answer has them. Spark's own
 * `CALL` runs a procedure then for the same reason (`InvokeProcedures`). Spark analyses a statement that it runs once. One that
 * it only explains, it analyses, too: `Statement` takes each such statement as a question for an explanation.
 */
case class AskEngine(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case AskedStatement(question) => HeadwaterStatement(question, Bridge.ask(session, question))
    case _ => plan
  }
}

/** A Headwater statement with the engine's answer, which Spark returns like the rows of any command. */
case class HeadwaterStatement(question: Question, answer: Reply) extends LeafRunnableCommand {
  private val types = answer.columns.map(column => DataType.fromDDL(column.`type`))

  override val output: Seq[Attribute] =
    answer.columns.zip(types).map { case (column, dataType) => AttributeReference(column.name, dataType)() }

  override def run(session: SparkSession): Seq[Row] =
    answer.rows.map(values => Row.fromSeq(values.zip(types).map { case (value, as) => HeadwaterStatement.typed(value, as) }))

  /** Spark's logs and pages show the question, and not all rows of the answer. */
  override protected def stringArgs: Iterator[Any] = Iterator(question)
}

object HeadwaterStatement {
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
