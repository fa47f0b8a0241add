package io.headwater.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{ImperativeAggregate, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.trees.{BinaryLike, UnaryLike}
import org.apache.spark.sql.types.{BinaryType, DataType, DoubleType}

/** An aggregate whose result is an [[ExactNumber]], in bytes. That of no rows is zero. */
private[spark] sealed abstract class ExactAggregate extends TypedImperativeAggregate[ExactNumber] {
  override def createAggregationBuffer(): ExactNumber = new ExactNumber
  override def merge(buffer: ExactNumber, input: ExactNumber): ExactNumber = {
    buffer.add(input, 1)
    buffer
  }
  override def eval(buffer: ExactNumber): Any = buffer.toBytes
  override def serialize(buffer: ExactNumber): Array[Byte] = buffer.toBytes
  override def deserialize(bytes: Array[Byte]): ExactNumber = ExactNumber.of(bytes)
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
}

/** The exact sum of the values of a `DOUBLE`, or of their squares. */
private[spark] final case class ExactSum(
    child: Expression,
    squared: Boolean = false,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0) extends ExactAggregate with UnaryLike[Expression] {
  override def prettyName: String = if (squared) "exact_squares" else "exact_sum"
  override def update(buffer: ExactNumber, input: InternalRow): ExactNumber = {
    child.eval(input) match {
      case null =>
      case value: Double => if (squared) buffer.addSquare(value, 1) else buffer.add(value, 1)
    }
    buffer
  }
  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildInternal(changed: Expression): ExactSum = copy(child = changed)
}

/** The sum of exact sums, of which those that did not come are taken away. */
private[spark] final case class ExactTotal(
    left: Expression,
    right: Expression,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0) extends ExactAggregate with BinaryLike[Expression] {
  override def prettyName: String = "exact_total"
  override def update(buffer: ExactNumber, input: InternalRow): ExactNumber = {
    left.eval(input) match {
      case null =>
      case bytes: Array[Byte] => buffer.add(ExactNumber.of(bytes), if (right.eval(input) == true) 1 else -1)
    }
    buffer
  }
  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(sum: Expression, came: Expression): ExactTotal = copy(left = sum, right = came)
}

/** An exact sum as a `DOUBLE`. */
private[spark] final case class ExactAsDouble(child: Expression) extends UnaryExpression with CodegenFallback {
  override def prettyName: String = "exact_as_double"
  override def dataType: DataType = DoubleType
  override protected def nullSafeEval(sum: Any): Any = ExactNumber.of(sum.asInstanceOf[Array[Byte]]).toDouble
  override protected def withNewChildInternal(changed: Expression): ExactAsDouble = copy(child = changed)
}

/** The sum of the squared distances from the mean, of an exact sum, the exact sum of the squares, and the number of values. */
private[spark] final case class ExactDeviation(first: Expression, second: Expression, third: Expression)
    extends TernaryExpression with CodegenFallback {
  override def prettyName: String = "exact_deviation"
  override def dataType: DataType = DoubleType
  override protected def nullSafeEval(sum: Any, squares: Any, count: Any): Any =
    ExactNumber.deviation(
      ExactNumber.of(sum.asInstanceOf[Array[Byte]]),
      ExactNumber.of(squares.asInstanceOf[Array[Byte]]),
      count.asInstanceOf[Long])
  override protected def withNewChildrenInternal(a: Expression, b: Expression, c: Expression): ExactDeviation =
    copy(first = a, second = b, third = c)
}
