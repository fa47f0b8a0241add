package io.headwater.spark

import java.lang.ref.WeakReference
import java.util.{Collections, IdentityHashMap, Set => JavaSet}

import scala.collection.mutable

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{AnalysisContext, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.{
  CacheTable, CreateMaterializedViewAsSelect, DeleteFromTable, LogicalPlan, MergeIntoTable, UncacheTable, UpdateTable}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.headwater.{Access, HeadwaterException}

/**
 * Lets each statement of a session read the members of a group at one epoch, through whatever ordinary views and common table
 * expressions: with `spark.headwater.read = consistent`, or at one that `spark.headwater.read.epoch` names.
 *
 * The rule comes before resolution, so a query means just what it would mean with `VERSION AS OF` at each name. Where it has
 * that itself, or an option for it, that counts. A statement that writes a table reads the others so, and writes it as it is.
 */
case class ConsistentReads(session: SparkSession) extends Rule[LogicalPlan] {
  import ConsistentReads._

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (Access.setting(session, Setting).isEmpty && Access.setting(session, Epoch).isEmpty || Internal.is(session)) plan
    else plan match {
      case _: CreateMaterializedViewAsSelect => plan // its query is kept as a text, and refreshed
      case _: CacheTable | _: UncacheTable => plan // the table itself
      case _ => read(plan)
    }

  private def read(plan: LogicalPlan): LogicalPlan = {
    val (pinning, written) = (PinnedSnapshots(session), targets(plan))
    val named = plan.collectWithSubqueries {
      case relation: UnresolvedRelation if asks(relation, written) => pinning.key(relation.multipartIdentifier).map(relation -> _)
    }.flatten
    val moment = if (named.isEmpty) None else ReadMoment.of(session)
    moment.fold(plan) { asked =>
      val statement = statementOf(asked)
      statement.ask(session, named.map(_._2))
      plan.resolveOperatorsUp {
        case relation: UnresolvedRelation if asks(relation, written) =>
          pinning.key(relation.multipartIdentifier).flatMap(name => statement.pins.get(name).map(name -> _)).fold[LogicalPlan](
            relation) { case (name, pin) =>
            PublishedSnapshot(session).forget(relation.multipartIdentifier) // which may not know so new a snapshot
            pinning.pinned(relation, name, pin)
          }
      }
    }
  }

  private def asks(relation: UnresolvedRelation, written: JavaSet[LogicalPlan]): Boolean =
    !relation.isStreaming && !written.contains(relation) && !Times.exists(relation.options.containsKey) &&
      PinnedSnapshots.isOpen(relation)

  /** The relations that a statement writes. */
  private def targets(plan: LogicalPlan): JavaSet[LogicalPlan] = {
    val found = Collections.newSetFromMap(new IdentityHashMap[LogicalPlan, java.lang.Boolean])
    plan.foreach {
      case MergeIntoTable(target, _, _, _, _, _, _) => target.foreach(found.add)
      case DeleteFromTable(target, _) => target.foreach(found.add)
      case UpdateTable(target, _, _) => target.foreach(found.add)
      case _ =>
    }
    found
  }
}

object ConsistentReads {
  val Setting = "spark.headwater.read"
  val Epoch = "spark.headwater.read.epoch"

  /** By these options a reader asks for a state of the table, or a branch of it. */
  private val Times =
    Seq("versionAsOf", "timestampAsOf", "snapshot-id", "as-of-timestamp", "branch", "tag", "start-snapshot-id")

  /** The statements that this thread analysed lately, each with the map that Spark makes for its analysis alone. */
  private val lately = ThreadLocal.withInitial[List[(WeakReference[AnyRef], ReadStatement)]](() => Nil)
  private val Most = 8

  private def statementOf(asked: ReadMoment): ReadStatement = {
    val own = AnalysisContext.get.relationCache
    lately.get.collectFirst { case (known, statement) if known.get eq own => statement }.getOrElse {
      val made = new ReadStatement(asked)
      lately.set(((new WeakReference[AnyRef](own), made) :: lately.get).take(Most))
      made
    }
  }
}

/**
 * What a session asks for.
 *
 * @param epoch none: the newest one of each group
 * @param sources whether base tables are read at the states of the epoch, too
 */
private[spark] final case class ReadMoment(epoch: Option[Long], sources: Boolean)

private[spark] object ReadMoment {
  /** A word that is none refuses each statement that reads a table, and nothing else: `SET` can mend it. */
  def of(session: SparkSession): Option[ReadMoment] = {
    val epoch = Access.setting(session, ConsistentReads.Epoch).map { text =>
      text.trim.toLongOption.filter(_ > 0).getOrElse(throw new HeadwaterException(
        s"${ConsistentReads.Epoch} is '$text'; write the number of an epoch, as SHOW MATERIALIZED VIEW GROUPS has it"))
    }
    Access.setting(session, ConsistentReads.Setting).getOrElse("consistent").trim.toLowerCase.split("\\s*,\\s*").toSeq match {
      case Seq("latest") => None
      case Seq("consistent") => Some(ReadMoment(epoch, sources = false))
      case Seq("consistent", "with sources") => Some(ReadMoment(epoch, sources = true))
      case other => throw new HeadwaterException(s"${ConsistentReads.Setting} is '${other.mkString(", ")}'; write latest, " +
        "consistent, or consistent, with sources")
    }
  }
}

/** The epoch of one statement. It is that of its first answer for all tables that the analysis meets later. */
private final class ReadStatement(moment: ReadMoment) {
  private var epoch = moment.epoch
  private val asked = mutable.Set.empty[String]
  var pins: Map[String, Pin] = Map.empty

  def ask(session: SparkSession, tables: Seq[String]): Unit = {
    val unknown = tables.distinct.filterNot(asked)
    if (unknown.nonEmpty) {
      asked ++= unknown // of all tables so far: a base table is to be read as each group that is read shows it
      val said = Bridge.ask(session, PinningQuestion(asked.toSeq.sorted, epoch, moment.sources)).sentence.get
      val answer = Wire.decode[PinningAnswer](said)
      epoch = Some(answer.epoch)
      pins ++= answer.pins
    }
  }
}
