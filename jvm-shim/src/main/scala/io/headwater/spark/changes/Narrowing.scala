package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Cross, Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types._

/**
 * Lets a query of changed rows read only the part of other tables that may join them.
 *
 * Example: orders 7 and 8 changed, and the query joins them with their lines. A condition on the lines, that their order is
 * between 7 and 8, changes no result. Spark skips files and row groups by it.
 */
private[spark] final class Narrowing(session: SparkSession, plan: LogicalPlan) {
  import Narrowing._

  private val standIn = StandIns.find(plan)
  private lazy val ranges: Map[ExprId, Seq[(Any, Any)]] = known(wanted(plan, Nil).map(_._1).distinct)

  /** The plan with conditions on the tables that the changed rows are joined with. */
  def narrowed: LogicalPlan = if (wanted(plan, Nil).isEmpty) plan else rewritten(plan, Nil)

  /** The pairs of a column of the changed rows and one of another table that must be equal, at and below a node. */
  private def wanted(node: LogicalPlan, above: Seq[Expression]): Seq[(Attribute, Attribute)] = node match {
    case each if each eq standIn => Nil
    case join: Join => pairs(join, above) ++ wanted(side(join), within(side(join), above ++ held(join)))
    case Filter(condition, child) => wanted(child, above ++ conjuncts(Some(condition)))
    case other => wanted(side(other), within(side(other), above))
  }

  private def rewritten(node: LogicalPlan, above: Seq[Expression]): LogicalPlan = node match {
    case each if each eq standIn => each
    case join: Join =>
      val own = side(join)
      val conditions = pairs(join, above).flatMap { case (changed, other) => ranges.get(changed.exprId).map(between(other, _)) }
      val children = join.children.map {
        case child if child eq own => rewritten(own, within(own, above ++ held(join)))
        case child => conditions.filter(_.references.subsetOf(child.outputSet)).reduceOption(And).fold(child)(Filter(_, child))
      }
      join.withNewChildren(children)
    case Filter(condition, child) => Filter(condition, rewritten(child, above ++ conjuncts(Some(condition))))
    case other => other.withNewChildren(other.children.map {
      case child if child eq side(other) => rewritten(child, within(child, above))
      case child => child
    })
  }

  /** The equalities that a joined row fulfils: those of the join itself, and of an inner join those above it. */
  private def pairs(join: Join, above: Seq[Expression]): Seq[(Attribute, Attribute)] = {
    val all = conjuncts(join.condition) ++ (if (join.joinType == Inner || join.joinType == Cross) above else Nil)
    val others = AttributeSet(join.children.filterNot(_ eq side(join)).flatMap(_.output))
    all.collect { case EqualTo(a: Attribute, b: Attribute) => Seq((a, b), (b, a)) }.flatten.filter { case (changed, other) =>
      standIn.outputSet.contains(changed) && others.contains(other) && isOrdered(changed.dataType)
    }
  }

  /** What each row of the changed side fulfils that makes a row of the join. An outer or an anti join keeps the others. */
  private def held(join: Join): Seq[Expression] = join.joinType match {
    case Inner | Cross | LeftSemi => conjuncts(join.condition)
    case _ => Nil
  }

  private def side(node: LogicalPlan): LogicalPlan = node.children.find(StandIns.in).get

  private def within(child: LogicalPlan, conditions: Seq[Expression]): Seq[Expression] =
    conditions.filter(_.references.subsetOf(child.outputSet))

  /** The ranges of the values of some columns; none of a column with too many. */
  private def known(columns: Seq[Attribute]): Map[ExprId, Seq[(Any, Any)]] = {
    val rows = Access.rows(session)(Limit(Literal(Most + 1), Distinct(Project(columns, standIn))))
    if (rows.length > Most) Map.empty
    else columns.zipWithIndex.map { case (column, n) =>
      val values = rows.map(_.get(n, column.dataType)).filter(_ != null).distinct.toSeq
      column.exprId -> split(values, column.dataType)
    }.toMap
  }
}

private object Narrowing {

  /** Of more changed rows, no values are looked at. */
  private val Most = 20000
  private val Ranges = 16

  private def conjuncts(condition: Option[Expression]): Seq[Expression] = condition.toSeq.flatMap {
    case And(left, right) => conjuncts(Some(left)) ++ conjuncts(Some(right))
    case other => Seq(other)
  }

  def isOrdered(kind: DataType): Boolean = kind match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType | _: DecimalType => true
    case text: StringType => text == StringType
    case _ => false
  }

  /** At most so many ranges with all values, split where the gaps are widest. */
  def split(values: Seq[Any], kind: DataType): Seq[(Any, Any)] = {
    val sorted = values.sorted(TypeUtils.getInterpretedOrdering(kind))
    if (sorted.isEmpty) Nil
    else {
      val gaps = sorted.zip(sorted.drop(1)).zipWithIndex.map { case ((a, b), n) => (width(a, b), n + 1) }
      val cuts = gaps.filter(_._1 > 1).sortBy(-_._1).take(Ranges - 1).map(_._2).sorted
      (0 +: cuts).zip(cuts :+ sorted.size).map { case (from, until) => (sorted(from), sorted(until - 1)) }
    }
  }

  private def width(a: Any, b: Any): Double = (a, b) match {
    case (x: Decimal, y: Decimal) => y.toDouble - x.toDouble
    case (x: Number, y: Number) => y.doubleValue - x.doubleValue
    case _ => 0
  }

  def between(column: Attribute, ranges: Seq[(Any, Any)]): Expression = ranges.map { case (least, greatest) =>
    def literal(value: Any) = Literal(value, column.dataType)
    And(GreaterThanOrEqual(column, literal(least)), LessThanOrEqual(column, literal(greatest)))
  }.reduceOption[Expression](Or).getOrElse(Literal.FalseLiteral)
}
