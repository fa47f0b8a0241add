package io.headwater.spark

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.BoolOr
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * `INTERSECT` and `EXCEPT` as aggregates, so that they have totals. Example: `a EXCEPT b` has the rows of a union of `a` and `b`,
 * grouped by all columns, that some row of `a` has and none of `b`. `derive/totals.py` has the same rules.
 */
private[spark] object SetOperations {

  /** A plan in which an aggregate takes the place of a set operation above which each operator has one input. */
  def grouped(plan: LogicalPlan): LogicalPlan = plan match {
    case _: LateralJoin => plan
    case each if isOne(each) => rewritten(each)
    case each if each.children.size == 1 => each.withNewChildren(each.children.map(grouped))
    case other => other
  }

  private def isOne(plan: LogicalPlan): Boolean = plan match {
    case Intersect(_, _, all) => !all
    case Except(_, _, all) => !all
    case _ => false
  }

  private def rewritten(plan: LogicalPlan): LogicalPlan = {
    val sides = mutable.Buffer.empty[LogicalPlan]
    // Whether a row is there is known by the sides that have it, once there is a union of all of them.
    def present(node: LogicalPlan): Told = node match {
      case Intersect(left, right, false) => both(present(left), present(right))(And)
      case Except(left, right, false) => both(present(left), present(right))((one, other) => And(one, Not(other)))
      case Distinct(union: Union) => union.children.map(present).reduce((one, other) => both(one, other)(Or))
      case side =>
        val n = sides.size
        // A side may have a column twice, where another one has two columns.
        sides += Project(side.output.map(each => Alias(each, each.name)()) :+ Alias(Literal(n), Side)(), side)
        found => found(n)
    }
    val condition = present(plan)
    val union = Union(sides.toSeq)
    val columns = union.output.init
    val has = sides.indices.map(n =>
      Alias(BoolOr(EqualTo(union.output.last, Literal(n))).toAggregateExpression(), s"$Side $n")())
    val shown = columns.zip(plan.output).map { case (from, to) => Alias(from, to.name)(to.exprId, to.qualifier) }
    Project(shown, Filter(condition(has.map(_.toAttribute)), Aggregate(columns, columns ++ has, union)))
  }

  private type Told = Seq[Attribute] => Expression

  private def both(one: Told, other: Told)(operator: (Expression, Expression) => Expression): Told =
    found => operator(one(found), other(found))

  private val Side = "headwater side"
}
