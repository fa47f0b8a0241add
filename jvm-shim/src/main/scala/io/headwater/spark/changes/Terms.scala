package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{MultiInstanceRelation, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.headwater.{Access, HeadwaterException}

/**
 * A place where a query reads a table of which rows changed, before it is decided which rows are read there.
 *
 * @param rows the name of the changed rows ([[StandIns]])
 * @param table its key
 * @param parts its name with all parts: the query may have named it within a view of another namespace
 * @param number of the place, in the order of the query
 */
private[spark] final case class OpenPlace(
    rows: String, table: String, parts: Seq[String], override val output: Seq[Attribute], number: Int = 0)
    extends LeafNode with MultiInstanceRelation {
  override def newInstance(): OpenPlace = copy(output = output.map(_.newInstance()))
}

/**
 * The terms of a change: for each place where a query reads a table that changed, the query of the changed rows there. The
 * places before it read their tables as they are now, those after it as they were ([Garcia98] §4.2). So a pair of changed
 * rows is counted once, also if a query joins a table with itself.
 */
private[spark] object Terms {

  /** The plan with changed rows in one place, for each place that has some. */
  def of(session: SparkSession, plan: LogicalPlan): Seq[LogicalPlan] = {
    val all = numbered(if (isInSubquery(plan)) joined(session, plan) else plan)
    val changing = all.collectWithSubqueries { case each: OpenPlace if StandIns.some(each.rows) => each }
    changing.map(new Term(session, _, alone = changing.size == 1).of(all))
  }

  private def joined(session: SparkSession, plan: LogicalPlan): LogicalPlan =
    Access.classic(session).withActive(JoinedSubqueries.joined(plan)).getOrElse(
      throw new IllegalArgumentException("a table that changed is in a subquery of which Spark makes no join"))

  private def isInSubquery(plan: LogicalPlan): Boolean = {
    def changing(found: Seq[LogicalPlan]) = found.count { case OpenPlace(rows, _, _, _, _) => StandIns.some(rows) }
    val where: PartialFunction[LogicalPlan, LogicalPlan] = { case each: OpenPlace => each }
    changing(plan.collectWithSubqueries(where)) > changing(plan.collect(where))
  }

  private def numbered(plan: LogicalPlan): LogicalPlan = {
    val numbers = Iterator.from(0)
    Access.everywhere(plan) { case each: OpenPlace => each.copy(number = numbers.next()) }
  }

  /** The term of a place; `alone`: no other place has changed rows. */
  private final class Term(session: SparkSession, place: OpenPlace, alone: Boolean) {

    def of(plan: LogicalPlan): LogicalPlan = withOthers(changed(plan))

    /** A plan with changed rows that stand in for the place, or for the highest operator that takes several rows together. */
    private def changed(plan: LogicalPlan): LogicalPlan = plan match {
      case each if isIt(each, place) => StandIns.at(place, alone)
      case union: Union => // The rows of its other inputs are no changed ones.
        val input = union.children(side(union))
        Terms.renamed(changed(input), union.output.zip(input.output))
      case node if ReachedRows.isKeyed(node, side(node)) =>
        val from = withOthers(changed(node.children(side(node))))
        new ReachedRows(session, node, side(node), from, states(node, isNew = true), states(node, isNew = false)).rows(alone)
      case other => other.withNewChildren(other.children.map(each => if (reads(each)) changed(each) else each))
    }

    private def side(node: LogicalPlan): Int = node.children.indexWhere(reads)

    private def reads(plan: LogicalPlan): Boolean = plan.exists(isIt(_, place))

    /** The inputs of an operator as they are now, or as they were before rows changed in the place. */
    private def states(node: LogicalPlan, isNew: Boolean): Seq[LogicalPlan] = node.children.map(child => withOthers(
      Access.rewrite(child) { case each: OpenPlace if each.number == place.number => read(session, each, isNew) }))

    /** A plan in which the places before the own one read their tables as they are now, and those after it as they were. */
    private def withOthers(plan: LogicalPlan): LogicalPlan = Access.everywhere(plan) {
      case each: OpenPlace if each.number != place.number => read(session, each, isNew = each.number < place.number)
    }
  }

  private def isIt(node: LogicalPlan, place: OpenPlace): Boolean = node match {
    case each: OpenPlace => each.number == place.number
    case _ => false
  }

  /** A table as it is now, or as it was. */
  private def read(session: SparkSession, place: OpenPlace, isNew: Boolean): LogicalPlan = {
    val rows = Access.frame(session) {
      PinnedSnapshots(session).pinned(UnresolvedRelation(place.parts), place.table, StandIns.state(place.rows, isNew))
    }.queryExecution.analyzed
    renamed(rows, place.output.map { column =>
      column -> rows.output.find(alike(_, column)).getOrElse(throw new HeadwaterException(
        s"${place.table} has no ${column.name} of the type ${column.dataType.sql} in a state that a refresh was to read"))
    })
  }

  private def alike(one: Attribute, other: Attribute): Boolean =
    one.name == other.name && DataTypeUtils.sameType(one.dataType, other.dataType)

  /** A plan under other columns; each stands with the one of the plan that it shows. */
  private[spark] def renamed(plan: LogicalPlan, columns: Seq[(Attribute, Attribute)]): LogicalPlan =
    Project(columns.map { case (to, from) => if (from.exprId == to.exprId) from else Alias(from, to.name)(to.exprId) }, plan)
}
