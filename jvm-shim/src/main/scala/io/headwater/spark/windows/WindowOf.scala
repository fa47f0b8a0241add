package io.headwater.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Window}
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types.DataType

/**
 * The one window of a query, and its rows in the driver by their keys: the values of PARTITION BY, then those of ORDER BY.
 * Both are columns.
 */
private[spark] final class WindowOf private (plan: LogicalPlan, val window: Window) {
  lazy val input: LogicalPlan = window.child
  lazy val groups: Seq[Attribute] = window.partitionSpec.map(_.asInstanceOf[Attribute])
  lazy val columns: Seq[Attribute] = groups ++ window.orderSpec.map(_.child.asInstanceOf[Attribute])
  lazy val types: Array[DataType] = columns.map(_.dataType).toArray

  /** How keys are ordered, bound to their places. */
  lazy val order: Seq[SortOrder] = window.orderSpec.zip(references.drop(groups.size)).map { case (each, at) =>
    SortOrder(at, each.direction, each.nullOrdering, Nil)
  }
  lazy val ordering: Ordering[InternalRow] = RowOrdering.create(order, Nil)

  /** The plan with other rows in place of the window. */
  def over(rows: LogicalPlan): LogicalPlan = Access.rewrite(plan) { case each if each eq window => rows }

  /** Keys by their values of PARTITION BY. Equal bytes are equal values of these. */
  def grouped(keys: LocalRelation): Map[UnsafeRow, Seq[UnsafeRow]] = {
    val whole = UnsafeProjection.create(references)
    grouped(keys.data.map(whole(_).copy()))
  }

  def grouped(keys: Seq[UnsafeRow]): Map[UnsafeRow, Seq[UnsafeRow]] = {
    val group = UnsafeProjection.create(references.take(groups.size))
    keys.groupBy(group(_).copy())
  }

  /** Keys as rows. */
  def local(keys: Seq[InternalRow]): LocalRelation = local(keys, columns)

  def local(keys: Seq[InternalRow], of: Seq[Attribute]): LocalRelation =
    LocalRelation(of.map(each => AttributeReference(each.name, each.dataType)()), keys)

  private def references: Seq[BoundReference] =
    columns.zipWithIndex.map { case (column, n) => BoundReference(n, column.dataType, nullable = true) }
}

private[spark] object WindowOf {
  def apply(query: DataFrame): WindowOf = {
    val plan = InlineCTE(alwaysInline = true)(query.queryExecution.analyzed)
    plan.collect { case each: Window => each } match {
      case Seq(one) => new WindowOf(plan, one)
      case several => throw new IllegalArgumentException(s"the query has ${several.size} windows")
    }
  }
}
