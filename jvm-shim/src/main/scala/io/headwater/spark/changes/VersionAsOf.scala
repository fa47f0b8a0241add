package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{RelationTimeTravel, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Lets a query read a view in files `VERSION AS OF` a version that is kept, as it reads one of a lake table. The number is
 * the one that `DESCRIBE MATERIALIZED VIEW GROUP` shows.
 */
case class VersionAsOf(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case travel @ RelationTimeTravel(relation: UnresolvedRelation, None, Some(version)) if version.forall(_.isDigit) =>
      val found = for {
        key <- PinnedSnapshots(session).key(relation.multipartIdentifier)
        table <- Tables.metadata(session, key)
        root <- FileVersions.root(table)
      } yield PinnedSnapshots(session).pinned(relation, key, Pin(version, Nil, root = root))
      found.getOrElse(travel)
  }
}
