package org.apache.spark.sql.headwater

import scala.util.Try

import io.headwater.spark.{ListedFiles, Names}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, InMemoryFileIndex}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** What a query needs of a table: some columns of the rows that satisfy all of one of these sets of SQL conditions. */
case class Needs(columns: Set[String], rows: Set[Set[String]])

object Needs {

  /** What a query needs of the tables that Spark lists the files of, by their names, as it is planned now. */
  def of(frame: DataFrame): Map[String, Needs] = Access.classic(frame.sparkSession).withActive {
    val plan = Access.classic(frame.sparkSession).sessionState.executePlan(frame.queryExecution.analyzed).executedPlan
    val scans = below(plan).collect { case scan: FileSourceScanExec => scan }.distinctBy(System.identityHashCode)
    scans.groupBy(table).collect { case (Some(name), all) => of(all).map(name -> _) }.flatten.toMap
  }

  /** What several scans of a table need together; nothing is known of formats that list their files themselves. */
  def of(scans: Seq[FileSourceScanExec]): Option[Needs] =
    if (scans.exists(scan => scan.tableIdentifier.isEmpty || !listed(scan))) None
    else Some(Needs(scans.flatMap(_.output.map(_.name)).toSet, scans.map(conditions).toSet))

  def table(scan: FileSourceScanExec): Option[String] =
    scan.tableIdentifier.map(Names.key)

  /** The directory of a scan of no table's files; empty for one of a table's. */
  def place(scan: FileSourceScanExec): String =
    if (scan.tableIdentifier.nonEmpty) "" else scan.relation.location.rootPaths.headOption.fold("")(_.toString)

  /** A plan and all that is below it, stages that ran included. */
  def below(plan: SparkPlan): Seq[SparkPlan] = plan +: (plan match {
    case adaptive: AdaptiveSparkPlanExec => below(adaptive.executedPlan)
    case stage: QueryStageExec => below(stage.plan)
    case other => (other.children ++ other.subqueries).flatMap(below)
  })

  /** The scan whose rows a filter gets as they are. */
  def scanned(filter: FilterExec): Option[FileSourceScanExec] = {
    def through(plan: SparkPlan): Option[FileSourceScanExec] = plan match {
      case scan: FileSourceScanExec => Some(scan)
      case InputAdapter(child) => through(child)
      case ColumnarToRowExec(child) => through(child)
      case _ => None
    }
    through(filter.child)
  }

  private def listed(scan: FileSourceScanExec): Boolean = scan.relation.location match {
    case _: CatalogFileIndex | _: InMemoryFileIndex | _: ListedFiles => true
    case _ => false
  }

  /** Of what a scan was told of its rows, all that SQL can say. */
  private def conditions(scan: FileSourceScanExec): Set[String] =
    scan.dataFilters.flatMap(PredicateSplit.conjuncts).flatMap(said(scan, _)).toSet

  /** Whether SQL can say all that a filter asks of the rows of a scan. */
  def tells(filter: FilterExec, scan: FileSourceScanExec): Boolean =
    PredicateSplit.conjuncts(filter.condition).forall(said(scan, _).nonEmpty)

  /** A condition in SQL, if that says the same in a session with the same settings. */
  private def said(scan: FileSourceScanExec, condition: Expression): Option[String] = {
    val partitions = AttributeSet(scan.output.filter(column => scan.relation.partitionSchema.names.contains(column.name)))
    val bare = condition.transform { case column: AttributeReference => column.withQualifier(Nil) }
    val about = condition.references
    if (about.isEmpty || about.intersect(partitions).nonEmpty || !condition.deterministic) None
    else Some(bare.sql).filter(text => plain(condition) || readBack(scan, text).exists(_.semanticEquals(condition)))
  }

  private def readBack(scan: FileSourceScanExec, text: String): Option[Expression] = Try {
    val state = scan.session.sessionState
    state.analyzer.execute(Filter(state.sqlParser.parseExpression(text), LocalRelation(scan.output)))
  }.toOption.collect { case Filter(condition, _) if condition.resolved => condition }

  private def plain(condition: Expression): Boolean = condition match {
    case _: And | _: Or | _: Not | _: EqualTo | _: EqualNullSafe | _: LessThan | _: LessThanOrEqual | _: GreaterThan |
        _: GreaterThanOrEqual | _: In | _: IsNull | _: IsNotNull => condition.children.forall(plain)
    case InSet(child, values) =>
      values.size <= MostValues && plain(child) && spelled(child.dataType) && values.forall(fixed)
    case column: AttributeReference => spelled(column.dataType)
    case literal: Literal => spelled(literal.dataType) && fixed(literal.value)
    case _ => false
  }

  private def spelled(kind: DataType): Boolean = kind match {
    case ByteType | ShortType | IntegerType | LongType | BooleanType | DateType | _: DecimalType => true
    case text: StringType => text == StringType
    case _ => false
  }

  /** Whether no setting of the parser changes the meaning of a value's text, which has all of the value. */
  private def fixed(value: Any): Boolean = value match {
    case null => true
    case text: UTF8String => text.isValid && isPlain(text.toString)
    case other => isPlain(other.toString)
  }

  private def isPlain(text: String): Boolean = !text.exists(each => each == '\\' || each == '\'' || each == '$')

  private val MostValues = 100
}

private object PredicateSplit extends PredicateHelper {
  def conjuncts(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)
}
