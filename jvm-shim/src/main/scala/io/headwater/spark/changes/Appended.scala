package io.headwater.spark

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.headwater.Access

/**
 * The rows of a query without an aggregate that changed rows make: for each place where it reads a table that changed. Each
 * operator above these must be linear.
 */
object Appended {
  def rows(query: DataFrame): JList[DataFrame] = {
    val session = query.sparkSession
    val plan = InlineCTE(alwaysInline = true)(query.queryExecution.analyzed)
    Terms.of(session, plan).map { term =>
      Access.frame(session) {
        val (rows, _) = StandIns.weighing(new Narrowing(session, term).narrowed)
        val columns = plan.output.map(_.exprId)
        Project(columns.map(id => rows.output.find(_.exprId == id).get), rows)
      }
    }.asJava
  }
}
