package io.headwater.spark

import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{CreateMaterializedViewAsSelect, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkSqlParser
import org.apache.spark.sql.headwater.Parameters
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * Takes the statements that only Headwater knows and leaves every other one to Spark.
 *
 * `CREATE MATERIALIZED VIEW` is Spark's own grammar: it goes to Spark's parser (Declarative Pipelines
 * match on the node it makes), after `EXPLAIN` and `OR REPLACE` became tags: Spark does not know the latter.
 */
class StatementParser(spark: ParserInterface) extends ParserInterface {

  override def parsePlan(sql: String): LogicalPlan = parse(sql, Parameters.variables(sql), spark.parsePlan)

  override def parsePlanWithParameters(sql: String, parameters: ParameterContext): LogicalPlan =
    parse(sql, Parameters.substitute(sql, parameters), Parameters.bound(spark, parameters))

  private def parse(sql: String, substituted: => String, delegate: String => LogicalPlan): LogicalPlan =
    Statement.recognise(sql) match {
      case Some(Statement.Creation(stripped, explained, orReplace)) =>
        val plan = delegate(stripped)
        plan.foreach {
          case create: CreateMaterializedViewAsSelect =>
            if (explained) create.setTagValue(StatementParser.Explained, ())
            if (orReplace) create.setTagValue(StatementParser.OrReplace, ())
          case _ =>
        }
        plan
      case Some(Statement.Own(kind)) => AskedStatement(StatementQuestion(kind, substituted))
      case None =>
        ParsedAway.note(_.parsePlan(sql))
        delegate(sql)
    }

  override def parseExpression(sql: String): Expression = {
    ParsedAway.note(_.parseExpression(sql))
    spark.parseExpression(sql)
  }
  override def parseQuery(sql: String): LogicalPlan = {
    ParsedAway.note(_.parseQuery(sql))
    spark.parseQuery(sql)
  }
  override def parseTableIdentifier(sql: String): TableIdentifier = spark.parseTableIdentifier(sql)
  override def parseFunctionIdentifier(sql: String): FunctionIdentifier = spark.parseFunctionIdentifier(sql)
  override def parseMultipartIdentifier(sql: String): Seq[String] = spark.parseMultipartIdentifier(sql)

  /** Parameters of functions are Spark's own grammar, and the parser of Iceberg's extension refuses them. */
  override def parseRoutineParam(sql: String): StructType = new SparkSqlParser().parseRoutineParam(sql)

  override def parseTableSchema(sql: String): StructType = spark.parseTableSchema(sql)
  override def parseDataType(sql: String): DataType = spark.parseDataType(sql)
}

object StatementParser {
  val OrReplace: TreeNodeTag[Unit] = TreeNodeTag[Unit]("headwater.orReplace")
  val Explained: TreeNodeTag[Unit] = TreeNodeTag[Unit]("headwater.explained")
}
