package io.headwater.spark

import java.util.{List => JList}

import scala.collection.immutable.TreeSet
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.headwater.{Access, Few, Gathered}
import org.apache.spark.sql.types._

/**
 * The keys that changes reach, in the memory of the driver.
 *
 * Example: customers 7 and NULL are reached. A query of their rows has the condition `customer IN (7) OR customer IS NULL`,
 * and no join with the keys.
 */
final class KeyValues private (session: SparkSession, keys: Seq[Attribute], values: Seq[InternalRow]) {
  import KeyValues._

  def count: Int = values.size

  /** The keys as rows. */
  def frame: DataFrame = Access.frame(session)(rows)

  private[spark] def rows: LogicalPlan = LocalRelation(keys, values)

  /** Whether some columns are equal to those of a row; two that are NULL are equal. */
  private[spark] def equal(columns: Seq[Attribute]): Expression =
    columns.zip(keys).map { case (column, key) => EqualNullSafe(column, key) }.reduce(And)

  /** A condition that rows with these keys fulfil, and perhaps others; files are skipped by it. */
  def near(frame: DataFrame, columns: JList[String]): Column = Access.column {
    val found = meant(frame, columns).flatMap(ValueRanges.near(_, values, Listed)).getOrElse(Literal.TrueLiteral)
    if (values.isEmpty) Literal.FalseLiteral else found
  }

  /**
   * A condition that rows with these keys fulfil, and no others. It is never NULL. `null`: there are too many keys for it, or
   * Spark would not compare them with the columns as they are.
   */
  def among(frame: DataFrame, columns: JList[String]): Column = meant(frame, columns) match {
    case None => null
    case _ if values.size > Conditions => null
    case Some(_) if values.isEmpty => Access.column(Literal.FalseLiteral)
    case Some(Seq(column)) if isPlain(column.dataType) && own.head.forall(ValueRanges.isFound) => Access.column(alone(column))
    case Some(several) =>
      val named = several.zipWithIndex.flatMap { case (column, n) => Seq(Literal(s"key$n"), column) }
      Access.column(InSet(CreateNamedStruct(named), values.toSet[Any]))
  }

  /** Columns of these names, if they have just the types of the keys. */
  private def meant(frame: DataFrame, columns: JList[String]): Option[Seq[Attribute]] = {
    val output = frame.queryExecution.analyzed.output
    val found = columns.asScala.toSeq.map(name => output.find(_.name == name))
    Option.when(found.forall(_.nonEmpty))(found.flatten).filter(_.zip(keys).forall { case (column, key) =>
      DataTypeUtils.sameType(column.dataType, key.dataType) && ValueRanges.isPadded(column) == ValueRanges.isPadded(key) &&
        (!ValueRanges.isPadded(column) || column.metadata == key.metadata)
    })
  }

  /** The values of a column that are not NULL. */
  private lazy val own: Seq[Seq[Any]] = keys.zipWithIndex.map { case (key, n) =>
    values.filterNot(_.isNullAt(n)).map(_.get(n, key.dataType)).distinct
  }

  private def alone(column: Attribute): Expression = {
    val known = own.head
    val one = if (known.isEmpty) Literal.FalseLiteral else And(IsNotNull(column), InSet(column, known.toSet))
    if (known.size < values.size) Or(IsNull(column), one) else one
  }
}

object KeyValues {

  /** So many keys are compared with in a condition; with more, rows are joined. */
  private val Conditions = 1000

  /** So many values of a column are listed in a condition on the sources; of more, ranges. */
  private val Listed = 500

  /** The different rows of some queries, as keys; `null` if there are more than `most`. */
  def of(frames: JList[DataFrame], most: Int): KeyValues = {
    val all = frames.asScala.toSeq
    val outputs = all.map(_.queryExecution.analyzed.output)
    val alike = outputs.forall(_.zip(outputs.head).forall { case (one, other) => one.dataType == other.dataType })
    val here = all.map(Gathered.local)
    val found =
      if (alike && here.forall(_.nonEmpty)) Some(here.flatten.flatten)
      else Gathered.of(Seq(all.reduce(_ union _).distinct()), Few(most)).head
    val keys = outputs.head.zipWithIndex.map { case (column, n) =>
      AttributeReference(s"headwater key $n", column.dataType, nullable = true, column.metadata)()
    }
    found.map(different(_, keys)).filter(_.size <= most).fold[KeyValues](null)(new KeyValues(all.head.sparkSession, keys, _))
  }

  /** Rows of which no two are equal as Spark compares them: 0.0 and -0.0 are, and strings as their collation has it. */
  private def different(rows: Seq[InternalRow], keys: Seq[Attribute]): Seq[InternalRow] = {
    val type_ = StructType(keys.map(key => StructField(key.name, key.dataType)))
    require(RowOrdering.isOrderable(type_), "keys that cannot be compared")
    (TreeSet.empty[Any](TypeUtils.getInterpretedOrdering(type_)) ++ rows).toSeq.map(_.asInstanceOf[InternalRow])
  }

  /** Types of which a set of values finds what equality does: no two spellings of one value. */
  private def isPlain(kind: DataType): Boolean = kind match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case _: DecimalType => true
    case text: StringType => text == StringType
    case _ => false
  }
}
