package io.headwater.spark

import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, EliminateView}
import org.apache.spark.sql.catalyst.expressions.{And, Expression, InSubquery, Not, Or, RuntimeReplaceableAggregate, SubqueryExpression}
import org.apache.spark.sql.catalyst.optimizer.{PullupCorrelatedPredicates, RewriteCorrelatedScalarSubquery, RewritePredicateSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.headwater.Access

/**
 * Subqueries as joins. Example: `WHERE EXISTS (SELECT 1 FROM lines l WHERE l.order = o.order)` is a semi-join of the orders with
 * lines. So a change of the lines reaches rows of the outer query by the keys that the join compares ([[ReachedRows]]).
 *
 * The rules are those of Spark's optimizer, which makes such joins in any case. Subqueries that it evaluates by themselves stay.
 * A table that one of these reads is not followed (`derive/totals.py`).
 */
private[spark] object JoinedSubqueries {

  /** Whether there are some in a plan. */
  def in(plan: LogicalPlan): Boolean = plan.exists(_.expressions.exists(SubqueryExpression.hasSubquery))

  /**
   * A plan with joins in place of subqueries, also of those within them, and the same columns; none if Spark's optimizer would
   * make other ones, as it simplifies the plan before.
   */
  def joined(plan: LogicalPlan): Option[LogicalPlan] = Option.when(asSparkDoes(plan))(rewritten(plan))

  private def rewritten(plan: LogicalPlan): LogicalPlan = {
    val plain = EliminateView(EliminateSubqueryAliases(plan))
    val within = Access.rewrite(plain) { case node =>
      node.transformExpressions { case each: SubqueryExpression => each.withNewPlan(rewritten(each.plan)) }
    }
    RewritePredicateSubquery(RewriteCorrelatedScalarSubquery(PullupCorrelatedPredicates(within)))
  }

  private def asSparkDoes(plan: LogicalPlan): Boolean = {
    val nodes = plan.collectWithSubqueries { case each => each }
    nodes.forall {
      case Filter(condition, _) => isTested(condition)
      case other => other.expressions.forall(asksForNone)
    } && nodes.forall(_.subqueries.forall(keepsItsFunctions))
  }

  /**
   * Whether the rules tell NULL from false where it matters. They do for `NOT IN` that stands alone. Spark turns `NOT (a IN … OR b)`
   * into such before, and moves conditions of joins and of expressions into filters.
   */
  private def isTested(condition: Expression): Boolean = condition match {
    case And(left, right) => isTested(left) && isTested(right)
    case Not(InSubquery(values, _)) => values.forall(asksForNone)
    case other => isAsked(other)
  }

  /** The same where NULL is as good as false. */
  private def isAsked(condition: Expression): Boolean = condition match {
    case And(left, right) => isAsked(left) && isAsked(right)
    case Or(left, right) => isAsked(left) && isAsked(right)
    case InSubquery(values, _) => values.forall(asksForNone)
    case other => asksForNone(other)
  }

  private def asksForNone(expression: Expression): Boolean = !expression.exists(_.isInstanceOf[InSubquery])

  /** Spark replaces some functions before, such as `count_if` by a count. What they make of no rows is known afterwards. */
  private def keepsItsFunctions(subquery: LogicalPlan): Boolean =
    !subquery.exists(_.expressions.exists(_.exists(_.isInstanceOf[RuntimeReplaceableAggregate])))
}
