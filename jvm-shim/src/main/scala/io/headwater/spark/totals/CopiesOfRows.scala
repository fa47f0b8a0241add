package io.headwater.spark

import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types._

/** Copies of rows below an aggregate to which they do not matter. `derive/totals.py` has the same rules. */
private[spark] object CopiesOfRows {

  /**
   * An aggregate without the `DISTINCT`s below it that it does not need. Example: in `a UNION b UNION c` the first one leaves
   * copies out that the second one leaves out, too. Rows are added to it where each row of an input makes rows of its own.
   */
  def kept(aggregate: Aggregate): Aggregate = {
    val functions = aggregate.aggregateExpressions.flatMap(_.collect { case each: AggregateExpression => each })
    if (functions.forall(ignores)) aggregate.copy(child = without(aggregate.child)) else aggregate
  }

  private def ignores(function: AggregateExpression): Boolean = function.isDistinct || (function.aggregateFunction match {
    case _: Min | _: Max | _: BoolAnd | _: BoolOr => true
    case _ => false
  })

  private def isSpelledOnce(kind: DataType): Boolean = kind match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType | BinaryType => true
    case _: DecimalType => true
    case text: StringType => text == StringType
    case _ => false
  }

  private def without(plan: LogicalPlan): LogicalPlan = plan match {
    // Of other values, it also takes one spelling for all that are equal.
    case Distinct(child) if child.output.forall(each => isSpelledOnce(each.dataType)) => without(child)
    case join: Join =>
      val (left, right) = join.joinType match {
        case _: InnerLike => (true, true)
        case LeftOuter | LeftSemi | LeftAnti => (true, false)
        case RightOuter => (false, true)
        case _ => (false, false)
      }
      join.copy(left = if (left) without(join.left) else join.left, right = if (right) without(join.right) else join.right)
    case join: LateralJoin => join.withNewChildren(join.children.map(without))
    case _: Project | _: Filter | _: Expand | _: Generate | _: Union | _: SubqueryAlias | _: View | _: Sort |
        _: RepartitionOperation | _: RebalancePartitions | _: ResolvedHint =>
      plan.withNewChildren(plan.children.map(without))
    case other => other
  }
}
