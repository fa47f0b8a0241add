package io.headwater.spark

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.headwater.Access

/**
 * The rows of a query without an aggregate that changed rows make: for each place where it reads a table that changed. The way
 * from there to the result must be followed (`derive/way.py`).
 */
object ViewRows {

  /** The rows. Each operator above changed rows must be linear, and none of these may have gone. */
  def added(query: DataFrame): JList[DataFrame] = terms(query, weighed = false)

  /** The rows with their weights, as the last column: 1 of those that come, -1 of those that go. */
  def changed(query: DataFrame): JList[DataFrame] = terms(query, weighed = true)

  private def terms(query: DataFrame, weighed: Boolean): JList[DataFrame] = {
    val session = query.sparkSession
    val plan = InlineCTE(alwaysInline = true)(query.queryExecution.analyzed)
    Terms.of(session, plan).map { term =>
      Access.frame(session) {
        val (rows, weight) = StandIns.weighing(new Narrowing(session, term).narrowed)
        val columns = plan.output.map(_.exprId).map(id => rows.output.find(_.exprId == id).get)
        Project(if (weighed) columns :+ Alias(StandIns.sign(weight), StandIns.Weight)() else columns, rows)
      }
    }.asJava
  }
}
