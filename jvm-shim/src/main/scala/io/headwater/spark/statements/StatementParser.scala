package io.headwater.spark

import java.util.regex.Pattern

import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{CreateMaterializedViewAsSelect, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkSqlParser
import org.apache.spark.sql.headwater.Parameters
import org.apache.spark.sql.types.{DataType, StructType}

/** Recognises, by their leading words, the statements that Spark's grammar lacks. */
object Statement {

  sealed trait Recognised

  /** A statement that goes whole to the engine, which parses it. */
  final case class Own(kind: StatementKind) extends Recognised

  /**
   * `[EXPLAIN] CREATE [OR REPLACE] MATERIALIZED VIEW` with at least one of both, which are blanked so that positions stay.
   * Spark itself would explain that it cannot plan the statement, after its analysis, which asks the engine. `EXPLAIN
   * EXTENDED` and its like are the same here.
   */
  final case class Creation(stripped: String, explained: Boolean, orReplace: Boolean) extends Recognised

  // A blank before or between words; comments are blanked before anything is matched. Quantifiers are possessive, for a
  // word never starts like a gap.
  private val Gap = """\s"""

  private def words(all: String*): Pattern =
    Pattern.compile(s"^$Gap*+" + all.mkString(s"$Gap++") + """(?=\W|$)""", Pattern.CASE_INSENSITIVE)

  // `EXPLAIN` of Spark's own `REFRESH TABLE t`, `REFRESH FUNCTION f` and `REFRESH '/path'` stays Spark's.
  private val NotSparks = s"""(?!$Gap*+(?:['"]|(?:TABLE|FUNCTION)$Gap++\\S))"""

  // A view may be called `group`: then nothing follows its name that is one.
  private val Named = s"""(?=$Gap++[^\\s;.])(?!$Gap++(?:FULL|PARTITION)(?:\\W|$$))"""

  private val kinds: Seq[(Pattern, StatementKind)] = Seq(
    words("REFRESH", "MATERIALIZED", "VIEWS") -> StatementKind.Drain,
    words("REFRESH", "MATERIALIZED", "VIEW", "GROUP" + Named) -> StatementKind.RefreshGroup,
    words("REFRESH", "MATERIALIZED", "VIEW") -> StatementKind.Refresh,
    words("VERIFY", "MATERIALIZED", "VIEW") -> StatementKind.Verify,
    words("SHOW", "MATERIALIZED", "VIEWS") -> StatementKind.ShowViews,
    words("SHOW", "MATERIALIZED", "VIEW", "GROUPS") -> StatementKind.ShowGroups,
    words("SHOW", "REFRESHES") -> StatementKind.ShowRefreshes,
    words("DESC(?:RIBE)?", "MATERIALIZED", "VIEW", "GROUP" + Named) -> StatementKind.DescribeGroup,
    words("DESC(?:RIBE)?", "MATERIALIZED", "VIEW") -> StatementKind.Describe,
    words("EXPLAIN", "REFRESH" + NotSparks) -> StatementKind.Explain,
    words("ALTER", "MATERIALIZED", "VIEW") -> StatementKind.Alter,
    words("DROP", "MATERIALIZED", "VIEW") -> StatementKind.Drop)

  private val creation = Pattern.compile(
    s"^$Gap*+(?:(EXPLAIN(?:$Gap++(?:EXTENDED|FORMATTED|COST|CODEGEN))?)$Gap++)?CREATE$Gap++(?:(OR$Gap++REPLACE)$Gap++)?MATERIALIZED$Gap++VIEW\\b",
    Pattern.CASE_INSENSITIVE)

  def recognise(sql: String): Option[Recognised] = {
    val blanked = Comments.blanked(sql)
    val create = creation.matcher(blanked)
    if (create.find()) {
      val (explained, orReplace) = (create.start(1) >= 0, create.start(2) >= 0)
      val stripped = Seq(1, 2).filter(create.start(_) >= 0).foldLeft(sql)((text, group) =>
        text.patch(create.start(group), " " * (create.end(group) - create.start(group)), create.end(group) - create.start(group)))
      Option.when(explained || orReplace)(Creation(stripped, explained, orReplace))
    } else {
      kinds.collectFirst { case (pattern, kind) if pattern.matcher(blanked).find() => Own(kind) }
    }
  }
}

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
