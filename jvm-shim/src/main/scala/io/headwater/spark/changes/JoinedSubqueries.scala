package io.headwater.spark

import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, EliminateView}
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.optimizer.{PullupCorrelatedPredicates, RewriteCorrelatedScalarSubquery, RewritePredicateSubquery}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
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

  /** A plan with joins in place of subqueries, also of those within them, and the same columns. */
  def joined(plan: LogicalPlan): LogicalPlan = {
    val plain = EliminateView(EliminateSubqueryAliases(plan))
    val within = Access.rewrite(plain) { case node =>
      node.transformExpressions { case each: SubqueryExpression => each.withNewPlan(joined(each.plan)) }
    }
    RewritePredicateSubquery(RewriteCorrelatedScalarSubquery(PullupCorrelatedPredicates(within)))
  }
}
