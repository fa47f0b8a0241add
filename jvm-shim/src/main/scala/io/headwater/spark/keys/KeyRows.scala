package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.headwater.{Access, Gathered}

/** Rows of plans that have some keys, which lie in the driver. */
private[spark] object KeyRows {
  val Broadcast: JoinHint = JoinHint(None, Some(HintInfo(strategy = Some(BROADCAST))))

  /** So many values of a column are listed in a condition; of more, ranges. */
  private val Listed = 500

  /** The rows of a plan, in the driver; none if there are more than `most`. */
  def local(session: SparkSession, plan: LogicalPlan, most: Int): Option[LocalRelation] = {
    val rows = Access.rows(session)(Limit(Literal(most + 1), plan))
    Option.when(rows.length <= most)(LocalRelation(renewed(plan), rows.toSeq))
  }

  /** The different rows of a plan. Rows that are in the driver take no job; then each is there once for each of its spellings. */
  def distinct(session: SparkSession, plan: LogicalPlan, most: Int): Option[LocalRelation] =
    here(session, plan).map(_.distinct).fold(local(session, Distinct(plan), most)) { rows =>
      Option.when(rows.size <= most)(LocalRelation(renewed(plan), rows))
    }

  /** The rows of a union of rows in the driver. */
  private def here(session: SparkSession, plan: LogicalPlan): Option[Seq[InternalRow]] = plan match {
    case Union(several, false, false) =>
      val each = several.map(here(session, _))
      Option.when(each.forall(_.nonEmpty))(each.flatten.flatten)
    case one => Gathered.local(Access.frame(session)(one))
  }

  private def renewed(plan: LogicalPlan): Seq[AttributeReference] =
    plan.output.map(each => AttributeReference(each.name, each.dataType)())

  /** That columns have the values of keys, by their places. */
  def matched(columns: Seq[Expression], keys: LogicalPlan, inside: Seq[Expression] = Nil): Option[Expression] =
    (columns.zip(keys.output).map { case (column, key) => EqualNullSafe(column, key) } ++ inside.reduceOption(Or))
      .reduceOption(And)

  /** The rows of a plan that may have some keys, so that Spark skips files and row groups. */
  def narrowed(plan: LogicalPlan, columns: Seq[Attribute], keys: LocalRelation): LogicalPlan =
    ValueRanges.near(columns, keys.data, Listed).fold(plan)(Filter(_, plan))
}
