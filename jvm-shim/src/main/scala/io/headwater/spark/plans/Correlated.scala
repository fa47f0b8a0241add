package io.headwater.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression

/** Subqueries that name columns of the query around them, as in `SELECT (SELECT max(y) FROM u WHERE u.x = t.x) FROM t`. */
object Correlated {
  def is(frame: DataFrame): Boolean =
    frame.queryExecution.analyzed.exists(_.expressions.exists(SubqueryExpression.hasCorrelatedSubquery))
}
