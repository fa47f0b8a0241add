package io.headwater.spark

import scala.collection.mutable

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.headwater.{Access, Beside, Packed}

/**
 * The rows of a query with a window function that are few places before or after changed rows.
 *
 * Example: `lag(price) OVER (PARTITION BY symbol ORDER BY day)`. A price of yesterday came. Its own row differs, and that of
 * today, of which it is the price before. Both are computed by the window function itself, over the rows that they are made of:
 * these two and the one before yesterday.
 *
 * A row differs only if one of its neighbours came or went. Let this be the nearest one that did. The rows between both stayed.
 * So the row is as near to the place of the neighbour now as it was to the neighbour itself.
 *
 * Spark takes rows of the same place in any order. If two of them are among the rows that are looked at, rows that are computed
 * now and rows that stay might follow from different orders. Nothing is reached then, and whole partitions are computed.
 *
 * Which queries are computed so is decided in Python (`headwater.algebra.derive.neighbours`). A query has one window.
 */
final class Neighbours(query: DataFrame) {
  import Neighbours._

  private val session = query.sparkSession
  private lazy val one = WindowOf(query)
  private lazy val (behind, ahead) = ends(one.window)

  /**
   * The rows that changed rows reach.
   * @param changed values of PARTITION BY and ORDER BY, in this order
   * @return null if there are too many, or if two rows have the same place
   */
  def reached(changed: DataFrame): Neighbourhood = Access.classic(session).withActive {
    val many = behind + ahead
    val found = for {
      keys <- Option.when(many <= Farthest)(changed).flatMap(each => KeyRows.distinct(session, each.queryExecution.analyzed, Most))
      rows = one.grouped(keys)
      there <- nearest(keys, rows, many.toInt)
      near <- new Places(one, behind.toInt, ahead.toInt).around(rows, one.grouped(there))
    } yield near
    found.filter { case (reached, beside) => reached.size <= Most && beside.size <= Beside }.map { case (reached, beside) =>
      new Neighbourhood(Access.frame(session)(one.local(reached)), one.local(beside))
    }.orNull
  }

  /** The rows in and beside the spans of changed ones. On each side is one more than needed: it may share a place. */
  private def nearest(keys: LocalRelation, rows: Map[UnsafeRow, Seq[UnsafeRow]], many: Int): Option[Seq[UnsafeRow]] = {
    val (least, greatest) = rows.values.map(each => (each.min(one.ordering), each.max(one.ordering))).unzip
    val read = KeyRows.narrowed(one.input, one.groups, keys)
    new Beside(one.types, one.groups.size, one.order, Packed(least.toSeq ++ greatest), many + 1, Most)
      .of(Access.frame(session)(Project(one.columns, read)))
  }
}

/**
 * Rows near to changed ones.
 * @param keys of these rows, and of the changed ones
 * @param near keys of all rows that they are made of
 */
final class Neighbourhood private[spark] (val keys: DataFrame, near: LocalRelation) {

  /** The rows of a query, of which those with the keys are all there. */
  def rows(query: DataFrame): DataFrame = Access.frame(query.sparkSession) {
    val one = WindowOf(query)
    val read = KeyRows.narrowed(one.input, one.columns, near)
    val beside = Join(read, near, LeftSemi, KeyRows.matched(one.columns, near), KeyRows.Broadcast)
    one.over(one.window.copy(child = beside))
  }
}

private object Neighbours {

  /** With more keys, whole partitions of the window are computed. */
  private val Most = 100000

  /** With more rows to compute them from, too. */
  private val Beside = 400000

  /** And if a row is made of one that is farther away. */
  private val Farthest = 1000L

  /** So many rows before and after a row its values are made of. */
  private def ends(window: Window): (Long, Long) = {
    def place(end: Expression): Long = end match {
      case CurrentRow => 0
      case by => by.eval().asInstanceOf[Number].longValue
    }
    val all = window.windowExpressions.map {
      case Alias(WindowExpression(_, WindowSpecDefinition(_, _, SpecifiedWindowFrame(RowFrame, lower, upper))), _) =>
        (place(lower), place(upper))
      case other => throw new IllegalArgumentException(s"no frame of places: ${other.sql}")
    }
    ((-all.map(_._1).min).max(0), all.map(_._2).max.max(0))
  }

  /** Finds the neighbours of changed rows in sorted rows. */
  private final class Places(one: WindowOf, behind: Int, ahead: Int) {
    private val many = behind + ahead
    private val ordering = one.ordering

    /** The keys of rows that changed ones reach, and of those that these are made of; none if two have the same place. */
    def around(
        changed: Map[UnsafeRow, Seq[UnsafeRow]],
        there: Map[UnsafeRow, Seq[UnsafeRow]]): Option[(Seq[UnsafeRow], Seq[UnsafeRow])] = {
      val reached, near = mutable.LinkedHashSet.empty[UnsafeRow]
      val isClear = changed.forall { case (group, keys) =>
        val rows = there.getOrElse(group, Nil).sorted(ordering).toIndexedSeq
        keys.forall { key =>
          val (from, until) = (first(rows)(ordering.gteq(_, key)), first(rows)(ordering.gt(_, key)))
          reached += key ++= rows.slice(from - ahead, until + behind)
          near ++= rows.slice(from - many, until + many)
          differ(rows.slice(from - many - 1, until + many + 1))
        }
      }
      Option.when(isClear)((reached.toSeq, near.toSeq))
    }

    private def differ(rows: IndexedSeq[UnsafeRow]): Boolean =
      rows.indices.drop(1).forall(n => ordering.compare(rows(n - 1), rows(n)) != 0)

    /** The place of the first row of which something holds that holds of all rows after it. */
    private def first(rows: IndexedSeq[UnsafeRow])(holds: UnsafeRow => Boolean): Int = {
      var (from, until) = (0, rows.size)
      while (from < until) {
        val middle = (from + until) / 2
        if (holds(rows(middle))) until = middle else from = middle + 1
      }
      from
    }
  }
}
