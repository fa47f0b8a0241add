package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.headwater.Access

/**
 * Lets a statement find the files of its query in the driver, where a format would start Spark jobs to read its own log.
 *
 * A relation whose snapshot is pinned ([[PinnedSnapshots]], [[ConsistentReads]]) never changes, so the format's code may read
 * it otherwise. Refreshes pin their sources, and a session that reads at epochs pins the members. Delta keeps no state of a
 * table but the newest, so without this each such statement would read the log of each table that it pins anew.
 */
case class FilesInDriver(session: SparkSession) extends Rule[LogicalPlan] {
  import FilesInDriver._

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (Access.setting(session, PinnedSnapshots.Setting).isEmpty && !ConsistentReads.isWanted(session)) plan
    else Access.rewrite(plan) { case relation: LogicalRelation =>
      relation.relation match {
        case files: HadoopFsRelation =>
          val location = Compiled.inDriver(files.location)
          if (location eq files.location) relation
          else relation.copy(relation =
            files.copy(location = location, options = files.options + Marked)(files.sparkSession))
        case _ => relation
      }
    }
}

object FilesInDriver {

  /** Delta takes all lists of the files of one version for equal, and Spark keeps a relation in place of an equal one. */
  private val Marked = "headwater.files" -> "in the driver"
}
