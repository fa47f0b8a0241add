package io.headwater.spark

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.headwater.Access

/** The conditions on tables that a query reads, as Spark gives them to a connector, such as Iceberg. No job runs for them. */
object ReadConditions {

  /** Those that Spark itself evaluates, too. A connector may have taken others over, and skips more files than by these. */
  def of(query: DataFrame): JList[Predicate] = query.queryExecution.optimizedPlan.collect {
    case Filter(condition, _: DataSourceV2ScanRelation) => Access.forConnectors(condition)
  }.flatten.asJava
}
