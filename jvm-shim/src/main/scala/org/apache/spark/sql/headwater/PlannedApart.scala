package org.apache.spark.sql.headwater

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * Rows that are planned apart from the statement that writes them.
 *
 * Delta prepares its scans in no plan that writes a table of another catalog, and refuses then to read files with deletion
 * vectors. So such a query gets a plan of its own. Nothing is kept: the rows are computed when they are written.
 *
 * @param prepared whether a relation is one that its format prepares
 */
object PlannedApart {
  def apply(frame: DataFrame, prepared: HadoopFsRelation => Boolean): DataFrame = {
    val read = frame.queryExecution.analyzed.collectWithSubqueries { case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => files }
    if (read.exists(prepared))
      Access.classic(frame.sparkSession).internalCreateDataFrame(frame.queryExecution.toRdd, frame.schema)
    else frame
  }
}
