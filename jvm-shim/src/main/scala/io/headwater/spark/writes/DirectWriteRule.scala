package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

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
