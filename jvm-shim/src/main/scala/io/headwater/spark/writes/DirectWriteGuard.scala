package io.headwater.spark

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{DropTable, InsertIntoStatement, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources.{InsertIntoHadoopFsRelationCommand, LogicalRelation}
import org.apache.spark.sql.execution.streaming.sinks.FileStreamSink
import org.apache.spark.sql.headwater.{Access, HeadwaterException}
import org.slf4j.LoggerFactory

/**
 * Has [[DirectWriteGuard]] look at each statement that is resolved. Spark prints the plan below an error that a check raises, and
 * none below an error of a rule. The guard is a check too, for plans that rules after this one change.
 */
case class DirectWriteRule(session: SparkSession) extends Rule[LogicalPlan] {
  private val guard = DirectWriteGuard(session)

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (plan.resolved) guard.before(plan)
    plan
  }
}

/** Refuses statements that would write into a materialized view past Headwater, or drop the table of one that others read. */
case class DirectWriteGuard(session: SparkSession) extends (LogicalPlan => Unit) {
  import DirectWriteGuard._

  private def log = LoggerFactory.getLogger("io.headwater")

  /** As a check. A plan that the rule let through, and that no later rule changed, needs no second look. */
  override def apply(plan: LogicalPlan): Unit = {
    val passed = plan.getTagValue(Passed).exists(_ eq plan) // a changed plan inherits the tag
    plan.unsetTagValue(Passed)
    if (!passed) look(plan)
  }

  /** As a rule, before the check. */
  def before(plan: LogicalPlan): Unit = {
    look(plan)
    plan.setTagValue(Passed, plan)
  }

  private def look(plan: LogicalPlan): Unit = if (!Internal.is(session)) plan.foreach { node =>
    target(node).filter(Views.is).map(view => Names.key(view.identifier)).foreach(view => refuse(view, Some(view)))
    Commands.changes(session, node).filter(_.changes).foreach(each => check(each.target))
    Places.of(node).flatMap(Roots.touched(session, _)).foreach(each => refuse(each.words, None))
    dropped(node).filter(isView).flatMap(_.table).foreach(refuseRead)
  }

  /** The table that `DROP TABLE` drops. */
  private def dropped(node: LogicalPlan): Option[Target] = node match {
    case drop: DropTableCommand if !drop.isView => Targets.of(drop.tableName)
    case drop: DropTable => Targets.of(drop.child)
    case _ => None
  }

  /**
   * Refuses to drop a view's table that other views read. Where the engine cannot be asked, the table is dropped: nothing else
   * could remove it then, and its readers say that it is gone.
   */
  private def refuseRead(table: String): Unit = {
    val read = try Bridge.ask(session, DroppingQuestion(table)).sentence
    catch {
      case failed: HeadwaterException =>
        log.warn(s"$table is dropped without a look at the views that read it: ${failed.text}")
        None
    }
    read.foreach(why => throw new HeadwaterException(why))
  }

  /** @throws HeadwaterException when the table of this key, which is to be changed, is a view's */
  def refuseView(table: String): Unit = check(Target(Some(table)))

  /**
   * @param table the key of the one that lies there by right
   * @throws HeadwaterException when this directory, which is to be written or emptied, is a part of another view
   */
  def refusePlace(path: String, table: Option[String]): Unit = {
    val own = table.flatMap(key => Try(LakeTables.load(session, Names.table(key))).toOption.flatten)
      .flatMap(each => Option(each.properties.get("location")))
    Places.path(path).flatMap(each => Roots.touched(session, Place(each, replaces = true)))
      .filterNot(found => own.flatMap(Places.path).exists(_.toUri.getPath == new Path(found.root).toUri.getPath))
      .foreach(each => refuse(each.words, None))
  }

  private def check(target: Target): Unit = {
    if (isView(target)) refuse(target.table.orElse(target.path).get, target.table)
    if (target.table.isEmpty)
      target.path.flatMap(Places.path).flatMap(each => Roots.touched(session, Place(each))).foreach(each => refuse(each.words, None))
  }

  /** Whether a table is a view's. A command that has not looked at the table names it only. */
  private def isView(target: Target): Boolean = Views.are(
    if (target.properties.nonEmpty) target.properties
    else target.table.flatMap(key => Try(Tables.properties(session, Names.table(key))).toOption.flatten).getOrElse(Map.empty))

  private def target(node: LogicalPlan): Option[CatalogTable] = node match {
    case insert: InsertIntoHadoopFsRelationCommand => insert.catalogTable
    case insert: InsertIntoStatement => insert.table.collectFirst { case LogicalRelation(_, _, Some(table), _, _) => table }
    case create: CreateDataSourceTableAsSelectCommand if create.mode != SaveMode.Ignore => named(create.table.identifier)
    case stream: WriteToStream => stream.catalogTable.filter(Views.is).map(unmarked)
    case truncate: TruncateTableCommand => named(truncate.tableName)
    case load: LoadDataCommand => named(load.table)
    case add: AlterTableAddPartitionCommand => named(add.tableName)
    case drop: AlterTableDropPartitionCommand => named(drop.tableName)
    case serde: AlterTableSerDePropertiesCommand => named(serde.tableName)
    case rename: AlterTableRenamePartitionCommand => named(rename.tableName)
    case move: AlterTableSetLocationCommand => named(move.tableName)
    case rename: AlterTableRenameCommand if !rename.isView => named(rename.oldName)
    case add: AlterTableAddColumnsCommand => named(add.table)
    case change: AlterTableChangeColumnCommand => named(change.tableName)
    case repair: RepairTableCommand => named(repair.tableName)
    case set: AlterTableSetPropertiesCommand if set.properties.keys.exists(Views.owns) => named(set.tableName)
    case unset: AlterTableUnsetPropertiesCommand if unset.propKeys.exists(Views.owns) => named(unset.tableName)
    case _ => None
  }

  private def named(identifier: org.apache.spark.sql.catalyst.TableIdentifier): Option[CatalogTable] = {
    val catalog = Access.classic(session).sessionState.catalog
    if (catalog.tableExists(identifier)) Some(catalog.getTableMetadata(identifier)) else None
  }

  /** By now Spark has marked the view's directory as written by a stream, which makes it read as empty. */
  private def unmarked(table: CatalogTable): CatalogTable = {
    val mark = new Path(new Path(table.location), FileStreamSink.metadataDir)
    mark.getFileSystem(Access.classic(session).sessionState.newHadoopConf()).delete(mark, true)
    table
  }

  /** @param name of the view in a statement; none of one that was written by its path */
  private def refuse(said: String, name: Option[String]): Unit =
    throw new HeadwaterException(
      s"$said is a materialized view, which only Headwater writes. Write to the tables it reads, change it with CREATE OR " +
        s"REPLACE or ALTER MATERIALIZED VIEW, or recompute it with REFRESH MATERIALIZED VIEW ${name.fold("…")(Names.anywhere)} FULL.")
}

object DirectWriteGuard {
  /** On a plan that the rule let through: that plan. */
  private val Passed = TreeNodeTag[LogicalPlan]("headwater.passed")
}

object Views {
  /** The property that marks a catalog table as a materialized view of Headwater's. */
  val Marker = "headwater.view"

  /** Whether a property of a view's table is Headwater's to write. */
  def owns(property: String): Boolean = property.startsWith("headwater.")

  def is(table: CatalogTable): Boolean = table.properties.contains(Marker)

  /** Whether properties are those of a view, or of a table that is to take its place. */
  def are(properties: Map[String, String]): Boolean = properties.contains(Marker) || properties.contains(Publication.Owner)
}
