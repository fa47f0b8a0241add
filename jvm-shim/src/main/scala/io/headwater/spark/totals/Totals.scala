package io.headwater.spark

import java.util.{List => JList}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.headwater.Access

/**
 * The totals of a query: for each group of its lowest aggregate the number of rows, and sums, counts and extremes of what it
 * aggregates. The query's rows follow from them, and the totals of changed rows can be added to them. Totals of an aggregate
 * with `DISTINCT` functions have these for each group and value ([[DistinctValues]]).
 *
 * Which queries have totals, and which changes can be added, is decided in Python (`headwater.algebra.derive.totals`).
 */
final class Totals(query: DataFrame) {
  import Totals._

  private val session = query.sparkSession
  private lazy val plan = SetOperations.grouped(InlineCTE(alwaysInline = true)(query.queryExecution.analyzed))
  private lazy val found = lowest(plan)
  private lazy val aggregate = CopiesOfRows.kept(grouped(found))
  private lazy val keys = aggregate.groupingExpressions.zipWithIndex.map { case (each, n) => Alias(each, s"key$n")() }
  private lazy val functions = distinct(
    aggregate.aggregateExpressions.flatMap(_.collect { case each: AggregateExpression => each }))
  private lazy val values = new DistinctValues(functions)
  private lazy val own = TotalsPart.rows +: functions.zipWithIndex.flatMap {
    case (each, _) if DistinctValues.takesOnce(each) => Nil
    case (each, n) => TotalsPart.of(each, n)
  }

  /** The columns that tell the rows of the totals apart. */
  private lazy val groups = keys ++ values.columns

  /** What tells the bucket. All values of a group are in one, unless there is one group. */
  private lazy val bucketKeys = if (keys.isEmpty) groups else keys
  private lazy val columns = groups ++ own.map(_.column)

  /** The totals of the rows that the query reads. */
  def rows: DataFrame = totalled(aggregate.child)

  /** The totals of the groups with some keys: only rows that may have these are read. */
  def within(some: KeyValues): DataFrame = {
    val shown = keys.zipWithIndex.map { case (each, n) => Alias(each.child, s"headwater group $n")() }
    val all = Access.frame(session)(Project(aggregate.child.output ++ shown, aggregate.child))
    val near = all.where(some.near(all, shown.map(_.name).asJava)).queryExecution.analyzed
    totalled(Join(near, some.rows, LeftSemi, Some(some.equal(shown.map(_.toAttribute))), JoinHint.NONE))
  }

  private def totalled(rows: => LogicalPlan): DataFrame = Access.frame(session)(Aggregate(groups.map(_.child), columns, rows))

  /**
   * The totals of changed rows, for each place where the query reads a table that changed: of each weight, what the query
   * makes of these.
   * @param few whether one task reads them sooner than several would exchange them
   */
  def terms(few: Boolean): JList[DataFrame] = Terms.of(session, aggregate.child).map { term =>
    Access.frame(session) {
      val (child, weight) = StandIns.weighing(new Narrowing(session, term).narrowed)
      val alone = child.collectLeaves().size == StandIns.find(child).collectLeaves().size && !StandIns.areReached(child)
      val read = if (few && alone) Repartition(1, shuffle = false, child) else child
      Aggregate(groups.map(_.child) :+ weight, columns :+ Alias(weight, Weight)(), read)
    }
  }.asJava

  /**
   * Totals with those of changed rows.
   * @param before the totals on record
   * @param changed those of rows that stood in for a table, one for each place
   * @param few whether one task adds them sooner than several would exchange them
   */
  def changed(before: DataFrame, changed: JList[DataFrame], few: Boolean): DataFrame = Access.frame(session) {
    val taken = together(before, changed, few)
    val columns = byName(taken.output)
    val rows = Project(groups.map(each => columns(each.name)) ++ own.map(_.checked(columns)), taken)
    // An aggregate without keys has its one row also of no rows.
    if (groups.isEmpty) rows else Filter(GreaterThan(byName(rows.output)(TotalsPart.Rows), Literal(0L)), rows)
  }

  /** The keys of the groups that lose their least or greatest value. Their totals do not tell the next one. The arguments are as above. */
  def losing(before: DataFrame, changed: JList[DataFrame], few: Boolean): DataFrame = Access.frame(session) {
    val taken = together(before, changed, few)
    val columns = byName(taken.output)
    val unknown = own.flatMap(_.unknown(columns)).reduceOption(Or).getOrElse(Literal.FalseLiteral)
    Project(keys.map(each => columns(each.name)), Filter(unknown, taken))
  }

  private def together(before: DataFrame, changed: JList[DataFrame], few: Boolean): LogicalPlan = {
    val old = before.queryExecution.analyzed
    val there = Project(old.output :+ Alias(Literal(StandIns.There), Weight)(), old)
    val sides = union(there +: changed.asScala.map(_.queryExecution.analyzed).toSeq)
    val all = if (few) Repartition(1, shuffle = false, sides) else sides
    val columns = byName(all.output)
    val known = groups.map(each => columns(each.name))
    Aggregate(known, known ++ own.flatMap(_.taken(columns)), all)
  }

  /** The totals of changed rows, brought to the driver; null if there are more than `most`. */
  def collected(changed: JList[DataFrame], most: Int): ChangedGroups = {
    val (output, rows) = Access.first(session, most + 1)(union(changed.asScala.map(_.queryExecution.analyzed).toSeq))
    val extremes = own.filter(_.isExtreme).map(_.name).toSet
    if (rows.length > most) null else new ChangedGroups(session, output, keys.size, bucketKeys.size, extremes, rows)
  }

  /** Totals with the bucket of each row, of so many. Groups that are equal are in one bucket, as Spark groups them. */
  def bucketed(totals: DataFrame, count: Int): DataFrame = Access.frame(session) {
    val known = totals.queryExecution.analyzed
    Project(known.output :+ Alias(bucketOf(known.output, count), InBucket)(), known)
  }

  /** Totals in the driver, which writes them in so many buckets; null if they are not few. */
  def near(totals: DataFrame, count: Int): NearTotals = NearTotals.of(totals, bucketOf(_, count)).orNull

  private def bucketOf(output: Seq[Attribute], count: Int): Expression = {
    val columns = byName(output)
    bucket(bucketKeys.map(each => columns(each.name)), count)
  }

  /** Whether some totals are least or greatest values. */
  def hasExtremes: Boolean = own.exists(_.isExtreme)

  /**
   * The positions of the groups' keys among the columns of the query; null unless each of its rows is made of one group alone,
   * and shows each key of that.
   */
  def shown: JList[Integer] = {
    val origins = plan.output.map(origin(_, plan))
    val positions = keys.indices.map(n => origins.indexOf(Some(n)))
    val alone = aggregate.aggregateExpressions.forall(ofItsRow) && above.forall(rowwise)
    if (positions.isEmpty || positions.contains(-1) || !alone) null else positions.map(Int.box).asJava
  }

  /** Whether a group has totals for each of its values. */
  def isByValue: Boolean = values.columns.nonEmpty

  /** Whether the query says itself in which order or files its rows come. */
  def isArranged: Boolean = above.exists(arranges)

  /** The operators above the aggregate, from the top. */
  private def above: Seq[LogicalPlan] =
    Iterator.iterate(plan)(_.children.head).takeWhile(each => !(each eq found)).toSeq

  /** The key of the groups that a column shows, as it is; none if it shows something else. */
  private def origin(column: Attribute, node: LogicalPlan): Option[Int] = {
    def shown(columns: Seq[NamedExpression]) = columns.find(_.exprId == column.exprId).map {
      case Alias(child, _) => child
      case other => other
    }
    node match {
      case each if each eq found =>
        shown(aggregate.aggregateExpressions)
          .map(each => aggregate.groupingExpressions.indexWhere(_.semanticEquals(each))).filter(_ >= 0)
      case Project(columns, child) => shown(columns).collect { case each: Attribute => each }.flatMap(origin(_, child))
      case other => other.children.headOption.flatMap(origin(column, _))
    }
  }

  /**
   * The rows of the query by its totals.
   * @param disordered whether their order does not matter
   */
  def finished(totals: DataFrame, disordered: Boolean): DataFrame = Access.frame(session) {
    val known = whole(totals.queryExecution.analyzed)
    val columns = byName(known.output)
    def told(expression: Expression): Expression = expression match {
      case function: AggregateExpression => TotalsPart.value(function, functions.indexWhere(_.semanticEquals(function)), columns)
      case other => aggregate.groupingExpressions.indexWhere(_.semanticEquals(other)) match {
        case -1 => other.mapChildren(told)
        case n => columns(keys(n).name)
      }
    }
    val results = aggregate.aggregateExpressions.map {
      case alias @ Alias(child, name) => Alias(told(child), name)(alias.exprId, alias.qualifier, alias.explicitMetadata)
      case column => Alias(told(column), column.name)(column.exprId, column.qualifier)
    }
    def below(node: LogicalPlan): LogicalPlan = if (disordered && arranges(node)) below(node.children.head) else node
    Access.rewrite(plan) {
      case each if below(each) eq found => Project(results, known)
      case each if disordered && arranges(each) => below(each)
    }
  }

  /** The totals of whole groups, and the functions that take each value once. */
  private def whole(totals: LogicalPlan): LogicalPlan = if (values.columns.isEmpty) totals else {
    val columns = byName(totals.output)
    val known = keys.map(key => columns(key.name))
    val once = functions.zipWithIndex.collect {
      case (each, n) if DistinctValues.takesOnce(each) => Alias(values.over(each, columns), TotalsPart.once(n))()
    }
    Aggregate(known, known ++ own.map(_.together(columns)) ++ once, totals)
  }

  private def union(totals: Seq[LogicalPlan]): LogicalPlan = totals.map(inOrder) match {
    case Seq(one) => one
    case several => Union(several)
  }

  private def inOrder(totals: LogicalPlan): LogicalPlan = {
    val columns = byName(totals.output)
    Project((groups.map(_.name) ++ own.map(_.name) :+ Weight).map(columns), totals)
  }
}

private[spark] object Totals {

  private val InBucket = "bucket"

  /** The bucket of a group, of so many: Spark exchanges equal groups by this expression. */
  private[spark] def bucket(keys: Seq[Expression], count: Int): Expression =
    if (keys.isEmpty) Literal(0) else HashPartitioning(keys, count).partitionIdExpression

  /** Whether an operator only orders rows, or puts them into files. */
  private def arranges(node: LogicalPlan): Boolean = node match {
    case _: Sort | _: RepartitionOperation => true
    case _ => false
  }

  /** Whether an operator makes of each row by itself at most one row, whatever other tables hold. */
  private def rowwise(node: LogicalPlan): Boolean = arranges(node) || (node match {
    case _: Project | _: Filter | _: SubqueryAlias | _: View => node.expressions.forall(ofItsRow)
    case _ => false
  })

  /** Whether an expression depends on its row alone. */
  private def ofItsRow(expression: Expression): Boolean =
    expression.deterministic && !expression.exists(_.isInstanceOf[PlanExpression[_]])

  private val Weight = StandIns.Weight

  /**
   * What the lowest aggregate of a query takes, or the query if it has none, with joins in place of subqueries. None if there are
   * no subqueries, or Spark makes no joins of them.
   */
  private[spark] def withJoins(analysed: LogicalPlan): Option[LogicalPlan] = if (!JoinedSubqueries.in(analysed)) None else
    // The query is any that a view may have. What the rules of Spark's optimizer do not know is no view that they follow.
    Try {
      val plan = SetOperations.grouped(InlineCTE(alwaysInline = true)(analysed))
      Option(lowestOf(plan).fold(plan)(_.children.head)).filter(JoinedSubqueries.in).flatMap(JoinedSubqueries.joined)
    }.toOption.flatten

  /** The lowest aggregate above which each operator has one input; `derive/totals.py` finds the same one. */
  private def lowest(plan: LogicalPlan): LogicalPlan =
    lowestOf(plan).getOrElse(throw new IllegalArgumentException("the query has no totals"))

  private def lowestOf(plan: LogicalPlan): Option[LogicalPlan] = {
    val above = Iterator.iterate(Option(plan))(_.flatMap {
      case _: LateralJoin => None
      case each => Option.when(each.children.size == 1)(each.children.head)
    }).takeWhile(_.nonEmpty).flatten.toSeq
    above.filter(each => each.isInstanceOf[Aggregate] || each.isInstanceOf[Distinct]).lastOption
  }

  private def grouped(found: LogicalPlan): Aggregate = found match {
    case aggregate: Aggregate => aggregate
    case Distinct(child) => Aggregate(child.output, child.output, child)
  }

  private def byName(columns: Seq[Attribute]): Map[String, Attribute] = columns.map(each => each.name -> each).toMap

  /** One of several functions that mean the same. */
  private def distinct(functions: Seq[AggregateExpression]): Seq[AggregateExpression] =
    functions.foldLeft(Seq.empty[AggregateExpression])((known, each) =>
      if (known.exists(_.semanticEquals(each))) known else known :+ each)
}
