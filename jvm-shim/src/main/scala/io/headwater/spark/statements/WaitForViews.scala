package io.headwater.spark

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan, UnaryExecNode, UnionExec}
import org.apache.spark.sql.execution.command.{DataWritingCommand, DataWritingCommandExec, ExecutedCommandExec, LeafRunnableCommand, RunnableCommand}
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.headwater.{Access, HeadwaterException}
import org.slf4j.LoggerFactory

/** With `spark.headwater.wait`, a write returns when every view that depends on it is fresh. */
case class WaitForViews(session: SparkSession) extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan =
      if (Internal.is(session) || !asked(plan)) plan
      else plan match {
        // A multi-insert: its writes run one after the other, and the last waits for the views of all.
        case union @ UnionExec(all) if all.nonEmpty && all.forall(isCommand) =>
          union.copy(children = all.init :+ waiting(all.last, all.flatMap(hints)))
        case one => waiting(one, hints(one))
      }
  }

  private def waiting(plan: SparkPlan, hints: Seq[Hint]): SparkPlan = plan match {
    case DataWritingCommandExec(write, child) if !write.isInstanceOf[WaitingWrite] =>
      DataWritingCommandExec(WaitingWrite(write, hints), child)
    case ExecutedCommandExec(command) if hints.nonEmpty && !command.isInstanceOf[WaitingCommand] =>
      ExecutedCommandExec(WaitingCommand(command, hints))
    case command: V2CommandExec if hints.nonEmpty && !command.isInstanceOf[WaitingExec] => WaitingExec(command, hints)
    case _ => plan
  }

  private def isCommand(plan: SparkPlan): Boolean = plan match {
    case _: DataWritingCommandExec | _: ExecutedCommandExec => true
    case _ => false
  }

  private def hints(plan: SparkPlan): Seq[Hint] = plan match {
    case DataWritingCommandExec(write, _) => Writes.hints(session, write)
    case ExecutedCommandExec(command) => Writes.hints(session, command)
    case command: V2CommandExec => command.logicalLink.toSeq.flatMap(Writes.hints(session, _))
    case _ => Nil
  }

  /** A word that is neither refuses each write, and nothing else: `SET` can mend it. */
  private def asked(plan: SparkPlan): Boolean = Access.setting(session, Setting).map(_.trim.toLowerCase) match {
    case None | Some("false") => false
    case Some("true") => true
    case Some(_) if (plan +: plan.children).flatMap(hints).isEmpty => false
    case Some(other) => throw new HeadwaterException(s"$Setting is '$other'; write true or false")
  }

  private def Setting = "spark.headwater.wait"
}

/** A write that afterwards waits for the views downstream of what a statement wrote. */
case class WaitingWrite(write: DataWritingCommand, hints: Seq[Hint]) extends DataWritingCommand {
  override def query: LogicalPlan = write.query
  override def outputColumnNames: Seq[String] = write.outputColumnNames
  override lazy val metrics: Map[String, SQLMetric] = write.metrics
  override def run(session: org.apache.spark.sql.classic.SparkSession, child: SparkPlan): Seq[Row] = {
    val rows = write.run(session, child)
    Waiting.forHints(session, hints)
    rows
  }
  override protected def withNewChildInternal(child: LogicalPlan): WaitingWrite =
    copy(write = write.withNewChildren(Seq(child)).asInstanceOf[DataWritingCommand])
}

/** The same for a command that changes a table without writing rows. */
case class WaitingCommand(command: RunnableCommand, hints: Seq[Hint]) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = command.output
  override lazy val metrics: Map[String, SQLMetric] = command.metrics
  override def run(session: SparkSession): Seq[Row] = {
    val rows = command.run(session)
    Waiting.forHints(session, hints)
    rows
  }
}

/** The same for a command of another catalog than Spark's own. */
case class WaitingExec(child: SparkPlan, hints: Seq[Hint]) extends V2CommandExec with UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override protected def run(): Seq[InternalRow] = {
    val rows = child.executeCollect()
    Waiting.forHints(session, hints)
    rows.toSeq
  }
  override protected def withNewChildInternal(newChild: SparkPlan): WaitingExec = copy(child = newChild)
}

object Waiting {
  private val log = LoggerFactory.getLogger("io.headwater")

  /**
   * The write is done already, so it does not fail when it cannot be waited for. It ends with an error when a view failed,
   * which says first that the write is not to be repeated.
   */
  def forHints(session: SparkSession, hints: Seq[Hint]): Unit =
    if (hints.nonEmpty) {
      val failed =
        try Bridge.ask(session, WaitQuestion(hints)).sentence
        catch {
          case refused: HeadwaterException =>
            log.warn(s"the write is done, but its views could not be waited for: ${refused.text}")
            None
        }
      failed.foreach { said =>
        throw new HeadwaterException(s"the write is done, and must not be repeated; $said")
      }
    }
}
