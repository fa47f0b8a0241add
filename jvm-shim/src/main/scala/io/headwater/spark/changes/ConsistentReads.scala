package io.headwater.spark

import java.lang.ref.WeakReference
import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{
  AnalysisContext, PlanWithUnresolvedIdentifier, UnresolvedIdentifier, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.{
  CacheTable, CreateMaterializedViewAsSelect, CreateTableAsSelect, DeleteFromTable, InsertIntoStatement, LogicalPlan, MergeIntoTable,
  ReplaceTableAsSelect, UncacheTable, UpdateTable, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.headwater.{Access, HeadwaterException}
import org.apache.spark.sql.internal.SQLConf

/**
 * Lets each statement of a session read the members of a group at one epoch, through whatever ordinary views and common table
 * expressions: with `spark.headwater.read = consistent`, or at one that `spark.headwater.read.epoch` names.
 *
 * The rule comes before resolution, so a query means just what it would mean with `VERSION AS OF` at each name. Where it has
 * that itself, or an option for it, that counts. A table that a statement writes, the statement reads as it is.
 */
case class ConsistentReads(session: SparkSession) extends Rule[LogicalPlan] {
  import ConsistentReads._

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!isWanted(session) || Internal.is(session)) plan
    else plan match {
      // What has a query as a text reads nothing yet, and a cache is one of the table itself.
      case _: CreateMaterializedViewAsSelect | _: CacheTable | _: UncacheTable =>
        statement.reads = false
        plan
      // Which table it writes is known when Spark has evaluated the name. This rule sees the statement again then.
      case _ if plan.exists(isUnnamed) => plan
      case _ => read(plan)
    }

  /** Whether a part of a statement has a name that Spark is still to evaluate, and a query below it. */
  private def isUnnamed(plan: LogicalPlan): Boolean = plan match {
    case unnamed: PlanWithUnresolvedIdentifier => unnamed.children.nonEmpty
    case _ => false
  }

  private def read(plan: LogicalPlan): LogicalPlan = {
    val (pinning, here) = (PinnedSnapshots(session), statement)
    here.written ++= targets(plan).flatMap(pinning.key)
    def open(relation: UnresolvedRelation): Option[String] =
      if (relation.isStreaming || times.exists(relation.options.containsKey) || !PinnedSnapshots.isOpen(relation)) None
      else pinning.key(relation.multipartIdentifier).filterNot(here.written)
    val named = if (!here.reads) Nil else plan.collectWithSubqueries { case relation: UnresolvedRelation => open(relation) }.flatten
    if (named.isEmpty) plan
    else WantedRead.of(session).fold(plan) { wanted =>
      here.ask(session, wanted, named)
      allowOldCommits()
      plan.resolveOperatorsUp {
        case relation: UnresolvedRelation =>
          open(relation).flatMap(name => here.pins.get(name).map(name -> _)).fold[LogicalPlan](relation) { case (name, pin) =>
            PublishedSnapshot(session).forget(relation.multipartIdentifier) // which may not know so new a snapshot
            pinning.pinned(relation, name, pin)
          }
      }
    }
  }

  /** The versions of an epoch can be read, however old their commits are. A session that says otherwise is left as it is. */
  private def allowOldCommits(): Unit = {
    val conf = Access.classic(session).sessionState.conf
    if (!conf.contains(OldCommits)) conf.setConfString(OldCommits, "false")
  }

  /** The tables that a statement writes. */
  private def targets(plan: LogicalPlan): Seq[Seq[String]] = {
    def names(target: LogicalPlan): Seq[Seq[String]] = target.collect {
      case relation: UnresolvedRelation => relation.multipartIdentifier
      case UnresolvedIdentifier(parts, _) => parts
    }
    plan.collect {
      case insert: InsertIntoStatement => names(insert.table)
      case write: V2WriteCommand => names(write.table)
      case merge: MergeIntoTable => names(merge.targetTable)
      case delete: DeleteFromTable => names(delete.table)
      case update: UpdateTable => names(update.table)
      case create: CreateTableAsSelect => names(create.name)
      case replace: ReplaceTableAsSelect => names(replace.name)
    }.flatten
  }

  /** By these options a reader asks for a state of the table, a branch of it, or its changes. */
  private def times: Seq[String] = {
    val conf = Access.classic(session).sessionState.conf
    Times ++ Seq(conf.getConf(SQLConf.TIME_TRAVEL_VERSION_KEY), conf.getConf(SQLConf.TIME_TRAVEL_TIMESTAMP_KEY))
  }
}

object ConsistentReads {
  val Setting = "spark.headwater.read"
  val Epoch = "spark.headwater.read.epoch"

  /** With this setting, Delta refuses to read a version that was committed longer ago than replaced files stay. */
  private val OldCommits = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"

  /** Whether a session says at which epoch it reads; `latest` is a word for it, too. */
  private[spark] def isWanted(session: SparkSession): Boolean =
    Access.setting(session, Setting).nonEmpty || Access.setting(session, Epoch).nonEmpty

  private val Times = Seq(
    "versionAsOf", "timestampAsOf", "snapshot-id", "as-of-timestamp", "branch", "tag", "start-snapshot-id", "end-snapshot-id",
    "start-timestamp", "end-timestamp", "readChangeFeed", "readChangeData", "startingVersion", "startingTimestamp")

  /** The statements that this thread analyses, each with the map that Spark makes for its analysis alone. */
  private val under = ThreadLocal.withInitial[List[(WeakReference[AnyRef], ReadStatement)]](() => Nil)

  private def statement: ReadStatement = {
    val own = AnalysisContext.get.relationCache
    under.get.collectFirst { case (known, statement) if known.get eq own => statement }.getOrElse {
      val made = new ReadStatement
      under.set((new WeakReference[AnyRef](own), made) :: under.get.filter(_._1.get != null))
      made
    }
  }
}

/**
 * What a session asks for.
 *
 * @param epoch none: the one of each group that readers see
 * @param sources whether base tables are read at the states of the epoch, too
 */
private[spark] final case class WantedRead(epoch: Option[Long], sources: Boolean)

private[spark] object WantedRead {
  /** A word that is none refuses each statement that reads a table, and nothing else: `SET` can mend it. */
  def of(session: SparkSession): Option[WantedRead] = {
    val epoch = Access.setting(session, ConsistentReads.Epoch).map { text =>
      text.trim.toLongOption.filter(_ > 0).getOrElse(throw new HeadwaterException(
        s"${ConsistentReads.Epoch} is '$text'; write the number of an epoch, as SHOW MATERIALIZED VIEW GROUPS has it"))
    }
    val words = Access.setting(session, ConsistentReads.Setting).getOrElse("consistent")
    words.trim.toLowerCase(Locale.ROOT).split("\\s*,\\s*").map(_.replaceAll("\\s+", " ")).toSeq match {
      case Seq("latest") => None
      case Seq("consistent") => Some(WantedRead(epoch, sources = false))
      case Seq("consistent", "with sources") => Some(WantedRead(epoch, sources = true))
      case _ => throw new HeadwaterException(
        s"${ConsistentReads.Setting} is '$words'; write latest, consistent, or consistent, with sources")
    }
  }
}

/** One statement: its moment is that of the first answer, for all tables that the analysis meets later. */
private final class ReadStatement {
  private var moment: Option[Long] = None
  private var asked = Set.empty[String]
  var pins: Map[String, Pin] = Map.empty

  /** Whether it reads tables at an epoch at all. */
  var reads = true

  /** The keys of the tables that it writes, which it reads as they are. */
  val written = mutable.Set.empty[String]

  def ask(session: SparkSession, wanted: WantedRead, tables: Seq[String]): Unit =
    if (tables.exists(!asked(_))) {
      val all = asked ++ tables // of all so far: a base table is to be read as each group that is read shows it
      val question = PinningQuestion(all.toSeq.sorted, wanted.epoch, moment, wanted.sources)
      val answer = Wire.decode[PinningAnswer](Bridge.ask(session, question).sentence.get)
      asked = all
      moment = Some(answer.moment)
      pins ++= answer.pins
    }
}
