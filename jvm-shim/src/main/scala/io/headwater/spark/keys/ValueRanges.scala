package io.headwater.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.{CharVarcharUtils, TypeUtils}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Conditions that a column has one of some values, or perhaps one of them. Readers skip files and row groups by these.
 *
 * Example: of the values 3, 4 and 1,000 to 1,400, a condition is that a column is from 3 to 4, or from 1,000 to 1,400.
 */
private[spark] object ValueRanges {
  private val Ranges = 16

  /** Whether values of a type are compared with literals and with statistics of files as they are with each other. */
  def isOrdered(column: Expression): Boolean = column.dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType | _: DecimalType => true
    case text: StringType => text == StringType && !isPadded(column)
    case _ => false
  }

  /**
   * Whether readers find a value by their statistics. They take a string for Java's, which has none of the bytes that are no
   * UTF-8: so a row group with just these would be left out.
   */
  def isFound(value: Any): Boolean = value match {
    case text: UTF8String => text.isValid
    case _ => true
  }

  /** Whether Spark pads values of a column before it compares them. */
  def isPadded(column: Expression): Boolean = column match {
    case known: NamedExpression if known.resolved => CharVarcharUtils.getRawType(known.metadata).nonEmpty
    case _ => false
  }

  /** A column has one of these values, if they are `listed` at most; else it is in a range with some. */
  def among(column: Expression, values: Seq[Any], listed: Int): Expression = {
    def literal(value: Any) = Literal(value, column.dataType)
    val some = values.distinct
    if (some.isEmpty) Literal.FalseLiteral
    else if (some.size <= listed) In(column, some.sorted(ordering(column.dataType)).map(literal))
    else between(column, split(some, column.dataType))
  }

  /**
   * Columns have the values of one of these rows, or perhaps so: a condition on each column of which readers have statistics.
   * None if there is no such column.
   * @param orNull whether a row without a value in the column of this number is meant, too
   */
  def near(columns: Seq[Expression], rows: Seq[InternalRow], listed: Int, orNull: Int => Boolean = _ => true): Option[Expression] =
    columns.zipWithIndex.filter(each => isOrdered(each._1)).flatMap { case (column, n) =>
      val (missing, known) = rows.map(_.get(n, column.dataType)).distinct.partition(_ == null)
      Option.when(known.forall(isFound)) {
        val one = among(column, known, listed)
        if (missing.nonEmpty && orNull(n)) Or(IsNull(column), one) else one
      }
    }.reduceOption(And)

  /** A column is in one of these ranges. */
  def between(column: Expression, ranges: Seq[(Any, Any)]): Expression = ranges.map { case (least, greatest) =>
    def literal(value: Any) = Literal(value, column.dataType)
    And(GreaterThanOrEqual(column, literal(least)), LessThanOrEqual(column, literal(greatest)))
  }.reduceOption[Expression](Or).getOrElse(Literal.FalseLiteral)

  /** A column is as small as the greatest of these values, or as great as the least one. */
  def upTo(column: Expression, values: Seq[Any]): Expression = ended(values, LessThanOrEqual(column, _), column, greatest = true)
  def from(column: Expression, values: Seq[Any]): Expression = ended(values, GreaterThanOrEqual(column, _), column, greatest = false)

  private def ended(values: Seq[Any], than: Literal => Expression, column: Expression, greatest: Boolean): Expression =
    if (values.isEmpty) Literal.FalseLiteral
    else {
      val order = ordering(column.dataType)
      than(Literal(if (greatest) values.max(order) else values.min(order), column.dataType))
    }

  private def ordering(kind: DataType): Ordering[Any] = TypeUtils.getInterpretedOrdering(kind)

  /** At most so many ranges with all values, split where the gaps are widest. */
  def split(values: Seq[Any], kind: DataType): Seq[(Any, Any)] = {
    val sorted = values.sorted(ordering(kind))
    if (sorted.isEmpty) Nil
    else {
      val gaps = sorted.zip(sorted.drop(1)).zipWithIndex.map { case ((a, b), n) => (width(a, b), n + 1) }
      val cuts = gaps.filter(_._1 > 1).sortBy(-_._1).take(Ranges - 1).map(_._2).sorted
      (0 +: cuts).zip(cuts :+ sorted.size).map { case (from, until) => (sorted(from), sorted(until - 1)) }
    }
  }

  private def width(a: Any, b: Any): Double = (a, b) match {
    case (x: Decimal, y: Decimal) => y.toDouble - x.toDouble
    case (x: Number, y: Number) => y.doubleValue - x.doubleValue
    case _ => 0
  }
}
