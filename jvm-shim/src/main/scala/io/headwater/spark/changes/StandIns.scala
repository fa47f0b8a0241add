package io.headwater.spark

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.{AliasIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference, Expression, GreaterThan, If, JoinedRow, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Distinct, Expand, Join, LocalRelation, LogicalPlan, Project, Repartition, SubqueryAlias, Union}
import org.apache.spark.sql.headwater.{Access, Gathered}
import org.apache.spark.sql.types.IntegerType

/**
 * Rows that came to a table and went from it, by the names that pins have for them ([[Pin]]). Where they stand in for the
 * table, each has a weight, which the query does not see: rows that came and rows that went are read together.
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
  private val known = new ConcurrentHashMap[String, Changed]

  /** Rows that came and that went, and how their table is read as it is now and as it was. */
  private final case class Changed(
      added: Option[LogicalPlan], removed: Option[LogicalPlan], small: Boolean, lasting: Boolean, now: Pin, before: Pin) {
    @volatile var isPlaced = false
  }

  /**
   * @param added rows that came, or null
   * @param removed rows that went, or null
   * @param lasting whether all rows that came are there now
   * @param now how the table is read as it is now, a [[Pin]]
   * @param before how it is read as it was
   */
  def put(name: String, added: DataFrame, removed: DataFrame, lasting: Boolean, now: String, before: String): Unit = {
    val sides = Seq(added, removed).map(Option(_))
    val Seq(came, went) = sides.map(_.map(_.queryExecution.analyzed))
    val small = sides.flatten.map(Gathered.size).sum <= Small
    known.put(name, Changed(came, went, small, lasting, Wire.decode[Pin](now), Wire.decode[Pin](before)))
  }

  def remove(name: String): Unit = known.remove(name)

  /** Whether a query was found to read the table. */
  def isPlaced(name: String): Boolean = known.get(name).isPlaced

  /** A place where a query reads a table of which rows changed. */
  private[spark] def place(name: String, table: String, parts: Seq[String]): OpenPlace = {
    val changed = known.get(name)
    changed.isPlaced = true
    val columns = changed.added.orElse(changed.removed).get.output
    // A state of the table may have NULL where none of the changed rows has.
    OpenPlace(name, table, parts, columns.map(_.newInstance().withNullability(true)))
  }

  /** Whether rows changed: rows in memory may have cancelled out. */
  private[spark] def some(name: String): Boolean = {
    val changed = known.get(name)
    (changed.added ++ changed.removed).exists {
      case LocalRelation(_, rows, _, _) => rows.nonEmpty
      case _ => true
    }
  }

  /** How the table of changed rows is read as it is now, or as it was. */
  private[spark] def state(name: String, isNew: Boolean): Pin = if (isNew) known.get(name).now else known.get(name).before

  /**
   * The changed rows in a place of their table.
   * @param alone whether no other place has changed rows; otherwise one that came may be joined with one that went since
   */
  private[spark] def at(place: OpenPlace, alone: Boolean): LogicalPlan = {
    val changed = known.get(place.rows)
    val sides = changed.added.map(_ -> (if (changed.lasting && alone) Came else There)) ++ changed.removed.map(_ -> Went)
    val read = sides.toSeq match {
      case Seq((one, weight)) => weighted(one, weight)
      case both if both.forall(_._1.isInstanceOf[LocalRelation]) && both.map(_._1.output.map(_.dataType)).distinct.size == 1 =>
        together(both)
      case both => Union(both.map { case (plan, weight) => weighted(plan, weight) })
    }
    // What follows needs no exchange then to bring rows of one group together.
    val rows = if (changed.small) Repartition(1, shuffle = false, read) else read
    of(rows, place.output)
  }

  /** Rows with a weight as their last column, which stand in for a plan with some columns. */
  private[spark] def of(rows: LogicalPlan, columns: Seq[Attribute]): LogicalPlan =
    SubqueryAlias(Name, Terms.renamed(rows, columns.zip(rows.output)))

  private[spark] def weighted(plan: LogicalPlan, weight: Int): LogicalPlan =
    Project(plan.output :+ Alias(Literal(weight), Weight)(), plan)

  /** Rows in memory, with their weights. A union would make them a task for each side, and no query would be evaluated with them. */
  private def together(sides: Seq[(LogicalPlan, Int)]): LogicalPlan = {
    val output = sides.head._1.output.map(column => column.withNullability(true)) :+
      AttributeReference(Weight, IntegerType, nullable = false)()
    LocalRelation(output, sides.collect { case (LocalRelation(_, rows, _, _), weight) =>
      rows.map(row => new JoinedRow(row, InternalRow(weight)): InternalRow)
    }.flatten)
  }

  /** How often a row of this weight comes: once, or it goes once. */
  private[spark] def sign(weight: Expression): Expression = If(GreaterThan(weight, Literal(0)), Literal(1), Literal(-1))

  /** The plan of stand-ins that says no more in how many tasks they are read. */
  private[spark] def plain(plan: LogicalPlan): LogicalPlan = Access.rewrite(plan) { case Repartition(1, false, child) => child }

  /** The rows that stand in for a table, in a plan that reads some. */
  private[spark] def find(plan: LogicalPlan): LogicalPlan = plan.find(isOne).get

  /** Whether these rows stand in for an operator ([[ReachedRows]]), and tables are read for them. */
  private[spark] def areReached(plan: LogicalPlan): Boolean = find(plan).exists(_.isInstanceOf[Join])

  /** Whether a plan reads rows that stand in for a table. */
  private[spark] def in(plan: LogicalPlan): Boolean = plan.exists(isOne)

  private def isOne(node: LogicalPlan): Boolean = node match {
    case SubqueryAlias(AliasIdentifier(Name, _), _) => true
    case _ => false
  }

  /**
   * A plan that passes the weight of each row on, with the column that has it. All operators between the stand-in and the
   * top must be linear (`derive/totals.py`), so each row comes from one row of the stand-in. No union is on the way ([[Terms]]).
   */
  private[spark] def weighing(plan: LogicalPlan): (LogicalPlan, Attribute) = plan match {
    case alias @ SubqueryAlias(AliasIdentifier(Name, _), Project(columns, rows)) =>
      val weight = rows.output.last
      (alias.copy(child = Project(columns :+ weight, rows)), weight)
    case project: Project =>
      val (child, weight) = weighing(project.child)
      (project.copy(project.projectList :+ weight, child), weight)
    case expand: Expand =>
      val (child, weight) = weighing(expand.child)
      (expand.copy(expand.projections.map(_ :+ weight), expand.output :+ weight, child), weight)
    case together @ (_: Aggregate | _: Distinct) => // A row of its result has no weight.
      throw new IllegalArgumentException(s"${together.nodeName} stands between changed rows and an aggregate")
    case other =>
      val at = other.children.indexWhere(in)
      val (child, weight) = weighing(other.children(at))
      (other.withNewChildren(other.children.updated(at, child)), weight)
  }
}
