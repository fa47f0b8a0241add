package org.apache.spark.sql.headwater

import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.{StringType, TimestampType}

/**
 * Rows with the values of partition columns that readers of their files get: one value for each directory.
 *
 * A directory is named by a value's text. NULL, the empty string and Hive's name of the null partition share one, as do
 * two timestamps in an hour that a clock shows twice. Spark's writer takes them for different partitions and fails to
 * create the second one's file; and what is held in memory must be what files would give back. A string whose bytes are no
 * UTF-8 has a name with U+FFFD in their place, so its row has that text.
 */
private[headwater] object AsRead {

  /** Texts that Spark writes to the null partition, and reads back as NULL. */
  val Nameless: Set[String] = Set("", ExternalCatalogUtils.DEFAULT_PARTITION_NAME)

  def apply(plan: LogicalPlan, columns: Seq[String], zone: String): LogicalPlan = {
    val output = plan.output.map(column => if (columns.contains(column.name)) read(column, zone) else column)
    if (output == plan.output) plan else Project(output, plan)
  }

  /** Only with valid strings in the columns. Formats that tell NULL and the empty string apart know no other bytes either. */
  def valid(plan: LogicalPlan, columns: Seq[String]): LogicalPlan = {
    val output = plan.output.map {
      case text if columns.contains(text.name) && text.dataType.isInstanceOf[StringType] =>
        Alias(valid(text), text.name)(explicitMetadata = Some(text.metadata))
      case column => column
    }
    if (output == plan.output) plan else Project(output, plan)
  }

  private def valid(text: Expression): Expression = Invoke(text, "makeValid", text.dataType)

  private def read(column: Attribute, zone: String): NamedExpression = column.dataType match {
    case text: StringType =>
      val nameless = In(Cast(column, StringType), Nameless.toSeq.map(Literal(_)))
      Alias(If(nameless, Literal(null, text), valid(column)), column.name)(explicitMetadata = Some(column.metadata))
    case TimestampType =>
      val spelled = Cast(column, StringType, Some(zone))
      Alias(Cast(spelled, TimestampType, Some(zone)), column.name)(explicitMetadata = Some(column.metadata))
    case _ => column
  }
}
