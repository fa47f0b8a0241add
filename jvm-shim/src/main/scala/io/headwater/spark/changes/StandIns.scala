package io.headwater.spark

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.{AliasIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference, JoinedRow, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Expand, LocalRelation, LogicalPlan, Project, Repartition, SubqueryAlias, Union}
import org.apache.spark.sql.headwater.{Access, Gathered}
import org.apache.spark.sql.types.IntegerType

/**
 * Rows that stand in for a table, by the names that pins have for them ([[Pin]]). Each has a weight, which the query does
 * not see: rows that came and rows that went are read together.
 */
object StandIns {
  /** The weights of rows that are there, that came and are there now, and that went. */
  private[spark] val There = 1
  private[spark] val Came = 2
  private[spark] val Went = -1
  private[spark] val Weight = "headwater weight"

  private val Name = "headwater stand-in"

  /** Rows of so few bytes are read in one task. */
  private val Small = 1 << 20
  private val known = new ConcurrentHashMap[String, LogicalPlan]

  /**
   * @param added rows that came, or null
   * @param removed rows that went, or null
   * @param lasting whether all rows that came are there now; with several changed sources, some may have gone again
   */
  def put(name: String, added: DataFrame, removed: DataFrame, lasting: Boolean): Unit = {
    val sides = Seq(added -> (if (lasting) Came else There), removed -> Went).filter(_._1 != null)
    val rows = sides.map { case (rows, weight) => (rows.queryExecution.analyzed, weight) } match {
      case Seq((one, weight)) => weighted(one, weight)
      case both if both.forall(_._1.isInstanceOf[LocalRelation]) && both.map(_._1.output.map(_.dataType)).distinct.size == 1 =>
        together(both)
      case both => Union(both.map { case (plan, weight) => weighted(plan, weight) })
    }
    // What follows needs no exchange then to bring rows of one group together.
    known.put(name, if (sides.map(side => Gathered.size(side._1)).sum <= Small) Repartition(1, shuffle = false, rows) else rows)
  }

  def remove(name: String): Unit = known.remove(name)

  private def weighted(plan: LogicalPlan, weight: Int): LogicalPlan =
    Project(plan.output :+ Alias(Literal(weight), Weight)(), plan)

  /** Rows in memory, with their weights. A union would make them a task for each side, and no query would be evaluated with them. */
  private def together(sides: Seq[(LogicalPlan, Int)]): LogicalPlan = {
    val output = sides.head._1.output.map(column => column.withNullability(true)) :+
      AttributeReference(Weight, IntegerType, nullable = false)()
    LocalRelation(output, sides.collect { case (LocalRelation(_, rows, _, _), weight) =>
      rows.map(row => new JoinedRow(row, InternalRow(weight)): InternalRow)
    }.flatten)
  }

  /** The plan of stand-ins that says no more in how many tasks they are read. */
  private[spark] def plain(plan: LogicalPlan): LogicalPlan = Access.rewrite(plan) { case Repartition(1, false, child) => child }

  private[spark] def plan(name: String): LogicalPlan = {
    val rows = known.get(name)
    SubqueryAlias(Name, Project(rows.output.init, rows))
  }

  /** The rows that stand in for a table, in a plan that reads some. */
  private[spark] def find(plan: LogicalPlan): LogicalPlan = plan.find(isOne).get

  /** Whether a plan reads rows that stand in for a table. */
  private[spark] def in(plan: LogicalPlan): Boolean = plan.exists(isOne)

  private def isOne(node: LogicalPlan): Boolean = node match {
    case SubqueryAlias(AliasIdentifier(Name, _), _) => true
    case _ => false
  }

  /**
   * A plan that passes the weight of each row on, with the column that has it. All operators between the stand-in and the
   * top must be linear (`derive/totals.py`), so each row comes from one row of the stand-in.
   */
  private[spark] def weighing(plan: LogicalPlan): (LogicalPlan, Attribute) = plan match {
    case alias @ SubqueryAlias(AliasIdentifier(Name, _), Project(columns, rows)) =>
      val weight = rows.output.last
      (alias.copy(child = Project(columns :+ weight, rows)), weight)
    case union: Union => // The rows of its other inputs did not change.
      val (input, weight) = weighing(union.children.find(in).get)
      val columns = union.output.zip(input.output).map { case (to, from) => Alias(from, to.name)(to.exprId) }
      (Project(columns :+ weight, input), weight)
    case project: Project =>
      val (child, weight) = weighing(project.child)
      (project.copy(project.projectList :+ weight, child), weight)
    case expand: Expand =>
      val (child, weight) = weighing(expand.child)
      (expand.copy(expand.projections.map(_ :+ weight), expand.output :+ weight, child), weight)
    case other =>
      val at = other.children.indexWhere(in)
      val (child, weight) = weighing(other.children(at))
      (other.withNewChildren(other.children.updated(at, child)), weight)
  }
}
