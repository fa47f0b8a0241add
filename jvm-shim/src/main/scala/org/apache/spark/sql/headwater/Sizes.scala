package org.apache.spark.sql.headwater

import io.headwater.spark.Names

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.planning.{ExtractEquiJoinKeys, PhysicalOperation}
import org.apache.spark.sql.catalyst.plans.LeftExistence
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, HadoopFsRelation, LogicalRelation, LogicalRelationWithTable}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/** What is foreseen of a query's result: the bytes that it takes, in the format of what is read, and that are read for it. */
case class Sizes(size: Double, read: Double)

/**
 * Foresees sizes of results from the bytes of tables.
 *
 * Spark itself takes a join for a product of its inputs unless tables were analysed. Here one by equal keys has as many rows
 * as its larger side: most join facts to what they refer to. Else it is as with Spark: rows are as wide as their types say,
 * and neither filters nor groups have fewer than what they are made of. So most estimates are too high, but those of joins
 * of many to many are too low. Of rows that are made of one, by functions, and of tables that are no files nobody can say:
 * they are infinite.
 */
object Sizes {

  /** @param known bytes of tables of which files do not tell, by name */
  def of(plan: LogicalPlan, known: Map[String, Long]): Sizes = plan match {
    case PhysicalOperation(_, _, leaf @ (_: LocalRelation | _: Range | _: OneRowRelation)) =>
      Sizes(leaf.stats.sizeInBytes.toDouble * part(plan.output, leaf.output), 0)
    case PhysicalOperation(_, filters, leaf: LeafNode) =>
      val all = bytes(leaf, known)
      val needed = AttributeSet(plan.references ++ plan.output ++ filters.flatMap(_.references))
      val read = all * part(leaf.output.filter(needed.contains), leaf.output)
      Sizes(all * part(plan.output, leaf.output), read)
    case join: Join => joined(join, of(join.left, known), of(join.right, known))
    case union: Union => union.children.map(of(_, known)).reduce((one, other) => Sizes(one.size + other.size, one.read + other.read))
    case Aggregate(Nil, _, child, _) => Sizes(width(plan.output), of(child, known).read)
    case limit: GlobalLimit => limited(limit, of(limit.child, known))
    case expand: Expand => widened(expand, of(expand.child, known), expand.projections.size)
    case unary: UnaryNode if !unary.isInstanceOf[Generate] => widened(unary, of(unary.child, known), 1)
    case other => Sizes(Double.PositiveInfinity, other.children.map(of(_, known).read).sum)
  }

  private def bytes(leaf: LeafNode, known: Map[String, Long]): Double =
    named(leaf).flatMap(known.get).map(_.toDouble).getOrElse {
      val told = leaf.stats.sizeInBytes
      if (told < leaf.conf.defaultSizeInBytes) told.toDouble else listed(leaf).fold(Double.PositiveInfinity)(_.toDouble)
    }

  /** The bytes of a table by its partitions: Spark does not look at them before it knows which a query needs. */
  private def listed(leaf: LeafNode): Option[Long] = leaf match {
    case LogicalRelationWithTable(HadoopFsRelation(index: CatalogFileIndex, _, _, _, _, _), _) =>
      Some(index.filterPartitions(Nil).sizeInBytes)
    case _ => None
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

  private def named(leaf: LeafNode): Option[String] = leaf match {
    case relation: LogicalRelation => relation.catalogTable.map(table => Names.key(table.identifier))
    case relation: HiveTableRelation => Some(Names.key(relation.tableMeta.identifier))
    case scan: DataSourceV2ScanRelation =>
      for (catalog <- scan.relation.catalog; table <- scan.relation.identifier) yield Names.key(catalog.name, table)
    case _ => None
  }
}
