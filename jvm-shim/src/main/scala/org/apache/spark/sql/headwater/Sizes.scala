package org.apache.spark.sql.headwater

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.planning.{ExtractEquiJoinKeys, PhysicalOperation}
import org.apache.spark.sql.catalyst.plans.LeftExistence
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.execution.datasources.LogicalRelation

/** What is foreseen of a query's result: the bytes that it takes, in the format of what is read, and that are read for it. */
case class Sizes(size: Double, read: Double)

/**
 * Foresees sizes of results from the bytes of tables.
 *
 * Spark itself takes a join for a product of its inputs unless tables were analysed. Here one by equal keys has as many rows
 * as its larger side: most join facts to what they refer to. Else it is as with Spark: rows are as wide as their types say,
 * and neither filters nor groups have fewer than what they are made of. So most estimates are too high, and what is kept
 * because of one fits.
 */
object Sizes {

  /** @param known bytes of tables of which files do not tell, by name */
  def of(plan: LogicalPlan, known: Map[String, Long]): Sizes = plan match {
    case PhysicalOperation(_, filters, leaf: LeafNode) =>
      val all = named(leaf).flatMap(known.get).fold(leaf.stats.sizeInBytes.toDouble)(_.toDouble)
      val needed = AttributeSet(plan.references ++ plan.output ++ filters.flatMap(_.references))
      val read = all * part(leaf.output.filter(needed.contains), leaf.output)
      Sizes(all * part(plan.output, leaf.output), read)
    case join: Join => joined(join, of(join.left, known), of(join.right, known))
    case union: Union => union.children.map(of(_, known)).reduce((one, other) => Sizes(one.size + other.size, one.read + other.read))
    case Aggregate(Nil, _, child, _) => Sizes(width(plan.output), of(child, known).read)
    case limit: GlobalLimit => limited(limit, of(limit.child, known))
    case expand: Expand => widened(expand, of(expand.child, known), expand.projections.size)
    case unary: UnaryNode => widened(unary, of(unary.child, known), 1)
    case leaf: LeafNode => Sizes(leaf.stats.sizeInBytes.toDouble, 0)
    case other => Sizes(Double.PositiveInfinity, other.children.map(of(_, known).read).sum)
  }

  private def joined(join: Join, left: Sizes, right: Sizes): Sizes = {
    val (some, others) = (left.size / width(join.left.output), right.size / width(join.right.output))
    val rows = join match {
      case Join(_, _, LeftExistence(_), _, _) => some
      case ExtractEquiJoinKeys(_) => math.max(some, others)
      case _ => some * math.max(1, others)
    }
    Sizes(rows * width(join.output), left.read + right.read)
  }

  private def limited(limit: GlobalLimit, of: Sizes): Sizes =
    limit.maxRows.fold(of)(rows => of.copy(size = math.min(of.size, rows * width(limit.output))))

  private def widened(plan: UnaryNode, of: Sizes, times: Int): Sizes =
    of.copy(size = of.size * times * part(plan.output, plan.child.output))

  private def part(columns: Seq[Attribute], of: Seq[Attribute]): Double = width(columns) / width(of)

  private def width(columns: Seq[Attribute]): Double = EstimationUtils.getSizePerRow(columns).toDouble

  private def named(leaf: LeafNode): Option[String] = (leaf match {
    case relation: LogicalRelation => relation.catalogTable.map(_.identifier)
    case relation: HiveTableRelation => Some(relation.tableMeta.identifier)
    case _ => None
  }).map(_.unquotedString.stripPrefix("spark_catalog."))
}
