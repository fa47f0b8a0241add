package io.headwater.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.headwater.Access

/** The rows of a query without an aggregate that changed rows make. Each operator above these must be linear. */
object Appended {
  def rows(query: DataFrame): DataFrame = Access.frame(query.sparkSession) {
    val session = query.sparkSession
    val plan = InlineCTE(alwaysInline = true)(query.queryExecution.analyzed)
    val (rows, _) = StandIns.weighing(new Narrowing(session, plan).narrowed)
    val columns = plan.output.map(_.exprId)
    Project(columns.map(id => rows.output.find(_.exprId == id).get), rows)
  }
}
