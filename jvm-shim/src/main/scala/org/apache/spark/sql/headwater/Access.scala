package org.apache.spark.sql.headwater

import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.sql.{AnalysisException, Column, DataFrame}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils, SparkSession}
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, Identifier, LookupCatalog, Table, V1Table}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.execution.command.ViewHelper
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, InsertIntoHadoopFsRelationCommand, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2Strategy}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType

/**
 * An error of a Headwater statement: a message that names the object and the remedy. It has no stack, which Spark Connect would
 * show to clients.
 */
class HeadwaterException(val text: String)
    extends AnalysisException(
      message = text, errorClass = Some(HeadwaterException.Condition), messageParameters = Map("errorMessage" -> text)) {
  override def getMessage: String = text
  override def fillInStackTrace(): Throwable = this
  override def setStackTrace(ofWhoWaits: Array[StackTraceElement]): Unit = ()
}

object HeadwaterException {
  /**
   * A condition of Spark's own whose words are free. A script of SQL looks for a handler by the condition of an error and
   * its state, and breaks at an error without them. Spark has a state for conditions that it knows.
   */
  val Condition = "_LEGACY_ERROR_USER_RAISED_EXCEPTION"
}

/** No lambda, of which Spark would read the class file. */
private object Copied extends (InternalRow => InternalRow) with Serializable {
  override def apply(row: InternalRow): InternalRow = row.copy()
}

/** The first rows of each partition. */
private final class First(most: Int) extends (Iterator[InternalRow] => Iterator[InternalRow]) with Serializable {
  override def apply(rows: Iterator[InternalRow]): Iterator[InternalRow] = rows.take(most).map(Copied)
}

/** The few members of Spark 4.1 that are private to its packages. */
object Access {

  /** Whether a write leaves the partitions alone that it has no row of. */
  def keepsPartitions(write: InsertIntoHadoopFsRelationCommand): Boolean = write.dynamicPartitionOverwrite

  /** The parts of a condition as connectors get them. All of these hold where it holds. */
  def forConnectors(condition: Expression): Seq[Predicate] =
    PredicateSplit.conjuncts(condition).flatMap(DataSourceV2Strategy.translateFilterV2)

  /** What a finished SQL execution ran, if Spark still holds it. */
  def finished(event: SparkListenerEvent): Option[QueryExecution] = event match {
    case end: SparkListenerSQLExecutionEnd => Option(end.qe)
    case _ => None
  }

  /** The application's default session, or a new one when none was made yet. */
  def someSession(context: SparkContext): SparkSession =
    SparkSession.getDefaultSession.filterNot(_.sparkContext.isStopped)
      .getOrElse(SparkSession.builder().sparkContext(context).getOrCreate())

  /**
   * Makes a session the active one of this thread. Catalogs, and the classes of Delta and Iceberg, read settings of the active
   * session, whichever session they are asked for; a thread of the engine has none.
   */
  def activate(session: org.apache.spark.sql.SparkSession): Unit = SparkSession.setActiveSession(classic(session))

  def classic(session: org.apache.spark.sql.SparkSession): SparkSession =
    session.asInstanceOf[SparkSession]

  /**
   * A setting of a session, if it has one. Rules ask this dozens of times for each query: `conf.getOption` makes an
   * exception, with its stack, for each setting that nobody made.
   */
  def setting(session: org.apache.spark.sql.SparkSession, key: String): Option[String] =
    Option(classic(session).sessionState.conf.getConfString(key, null))

  /** Those of some settings that an ordinary view would keep. */
  def keptByOrdinaryView(made: Map[String, String]): Set[String] = {
    val conf = new SQLConf { override def getAllConfs: Map[String, String] = made }
    ViewHelper.sqlConfigsToProps(conf, "").keySet
  }

  /** The catalog and the table that a name means in a session; none if there is no such catalog. */
  def meant(session: org.apache.spark.sql.SparkSession, name: Seq[String]): Option[(CatalogPlugin, Identifier)] =
    Try(new Meant(classic(session).sessionState.catalogManager).of(name)).toOption.flatten

  private class Meant(override protected val catalogManager: CatalogManager) extends LookupCatalog {
    def of(name: Seq[String]): Option[(CatalogPlugin, Identifier)] = CatalogAndIdentifier.unapply(name)
  }

  /** The session catalog's entry of a table that has one. */
  def entry(table: Table): Option[CatalogTable] = table match {
    case known: V1Table => Some(known.v1Table)
    case _ => None
  }

  /** The table itself, of one that a statement changes by row. */
  def plain(table: Table): Table = table match {
    case changed: RowLevelOperationTable => changed.table
    case other => other
  }

  /** DELETE, UPDATE or MERGE, of a relation that a statement changes by row. */
  def operation(relation: LogicalPlan): Option[String] = relation match {
    case DataSourceV2Relation(changed: RowLevelOperationTable, _, _, _, _, _) => Some(changed.operation.command.name)
    case _ => None
  }

  /**
   * The rows of a plan, which is built while the session is the active one of the thread: Spark's expressions take settings
   * such as ANSI from that when they are made. So all plans of the shim are built here.
   */
  def frame(session: org.apache.spark.sql.SparkSession)(plan: => LogicalPlan): DataFrame =
    classic(session).withActive(Dataset.ofRows(classic(session), plan))

  /**
   * Runs jobs with the settings of a session in all their tasks. Spark does so for what it calls an execution. Elsewhere, all
   * stages but the last would have its defaults: a date may be another one by another `timeParserPolicy`.
   */
  def running[A](session: org.apache.spark.sql.SparkSession)(body: => A): A = {
    val own = classic(session)
    own.withActive(SQLExecution.withSQLConfPropagated(own)(body))
  }

  /** The rows of a small plan, as Spark has them inside. Rows that are in the driver take no job. */
  def rows(session: org.apache.spark.sql.SparkSession)(plan: => LogicalPlan): Array[InternalRow] = running(session) {
    val found = frame(session)(plan)
    Gathered.local(found).fold(found.queryExecution.toRdd.map(Copied).collect())(_.toArray[InternalRow])
  }

  /** A type as tables store it: no part of a value is said to be never NULL. */
  def stored(kind: DataType): DataType = kind.asNullable

  /** An expression over columns of a query, as a column. */
  def column(expression: Expression): Column = ExpressionUtils.column(expression)

  /** The columns of a plan, and at most so many of its rows in each partition. */
  def first(session: org.apache.spark.sql.SparkSession, most: Int)(plan: => LogicalPlan): (Seq[Attribute], Array[InternalRow]) = {
    running(session) {
      val made = frame(session)(plan).queryExecution
      (made.analyzed.output, made.toRdd.mapPartitions(new First(most)).collect())
    }
  }

  /** Rewrites a plan that may hold nodes which are already analysed (a cached relation is). */
  def rewrite(plan: LogicalPlan)(rule: PartialFunction[LogicalPlan, LogicalPlan]): LogicalPlan =
    AnalysisHelper.allowInvokingTransformsInAnalyzer(plan.transform(rule))

  /** The same, also in the plans of subqueries. */
  def everywhere(plan: LogicalPlan)(rule: PartialFunction[LogicalPlan, LogicalPlan]): LogicalPlan =
    AnalysisHelper.allowInvokingTransformsInAnalyzer(plan.transformDownWithSubqueries(rule))
}

/**
 * Rows that are planned apart from the statement that writes them.
 *
 * Delta prepares its scans in no plan that writes a table of another catalog, and refuses then to read files with deletion
 * vectors. So such a query gets a plan of its own. Nothing is kept: the rows are computed when they are written.
 *
 * @param prepared whether a relation is one that its format prepares
 */
object PlannedApart {
  def apply(frame: DataFrame, prepared: HadoopFsRelation => Boolean): DataFrame = {
    val read = frame.queryExecution.analyzed.collectWithSubqueries { case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => files }
    if (read.exists(prepared))
      Access.classic(frame.sparkSession).internalCreateDataFrame(frame.queryExecution.toRdd, frame.schema)
    else frame
  }
}
