package io.headwater.spark

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.command.{DataWritingCommand, DataWritingCommandExec, ExecutedCommandExec, LeafRunnableCommand, RunnableCommand}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.headwater.HeadwaterException
import org.json4s._
import org.slf4j.LoggerFactory

/** With `spark.headwater.wait`, a write returns when every view that depends on it is fresh. */
case class WaitForViews(session: SparkSession) extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan =
      if (!asked || Internal.is(session)) plan
      else plan match {
        case DataWritingCommandExec(write, child) if !write.isInstanceOf[WaitingWrite] =>
          DataWritingCommandExec(WaitingWrite(write), child)
        case ExecutedCommandExec(command) if Waiting.writes(command) => ExecutedCommandExec(WaitingCommand(command))
        case _ => plan
      }
  }

  private def asked: Boolean = session.conf.getOption("spark.headwater.wait").exists(_.equalsIgnoreCase("true"))
}

/** A write that afterwards waits for what depends on it. */
case class WaitingWrite(write: DataWritingCommand) extends DataWritingCommand {
  override def query: LogicalPlan = write.query
  override def outputColumnNames: Seq[String] = write.outputColumnNames
  override lazy val metrics: Map[String, SQLMetric] = write.metrics
  override def run(session: org.apache.spark.sql.classic.SparkSession, child: SparkPlan): Seq[Row] = {
    val rows = write.run(session, child)
    Waiting.forHints(session, Writes.hints(write))
    rows
  }
  override protected def withNewChildInternal(child: LogicalPlan): WaitingWrite =
    copy(write = write.withNewChildren(Seq(child)).asInstanceOf[DataWritingCommand])
}

/** The same for a command that changes a table without writing rows. */
case class WaitingCommand(command: RunnableCommand) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = command.output
  override lazy val metrics: Map[String, SQLMetric] = command.metrics
  override def run(session: SparkSession): Seq[Row] = {
    val rows = command.run(session)
    Waiting.forHints(session, Writes.hints(command))
    rows
  }
}

object Waiting {
  private val log = LoggerFactory.getLogger("io.headwater")

  def writes(command: RunnableCommand): Boolean = Writes.hints(command).nonEmpty

  /** The write is done already, so it must not fail when it cannot be waited for: a user would repeat it. */
  def forHints(session: SparkSession, hints: Seq[Hint]): Unit =
    if (hints.nonEmpty) {
      try Bridge.ask(session, "wait", message(hints))
      catch {
        case refused: HeadwaterException =>
          log.warn(s"the write is done, but its views could not be waited for: ${refused.text}")
      }
    }

  private[spark] def message(hints: Seq[Hint]): JObject = JObject("hints" -> JArray(hints.map(_.json).toList))
}
