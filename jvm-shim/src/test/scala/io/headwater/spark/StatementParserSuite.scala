package io.headwater.spark

import org.apache.spark.sql.catalyst.parser.{NamedParameterContext, ParseException, PositionalParameterContext}
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.{CompoundBody, CreateMaterializedViewAsSelect, LogicalPlan}
import org.scalatest.funsuite.AnyFunSuite

class StatementParserSuite extends AnyFunSuite {
  private lazy val session = LocalSpark.emptyShop()
  private lazy val parser = { session; LocalSpark.parser }

  private def asked(kind: StatementKind, text: String): LogicalPlan = AskedStatement(StatementQuestion(kind, text))

  private def creation(plan: LogicalPlan): CreateMaterializedViewAsSelect =
    plan.collectFirst { case create: CreateMaterializedViewAsSelect => create }.get

  private def replaces(plan: LogicalPlan): Boolean =
    creation(plan).getTagValue(StatementParser.OrReplace).isDefined

  test("a statement of Headwater's becomes a command that carries its text") {
    assert(parser.parsePlan("SHOW REFRESHES LIMIT 2") == asked(StatementKind.ShowRefreshes, "SHOW REFRESHES LIMIT 2"))
  }

  test("a group is named after GROUP, and a view may have that name") {
    Seq(
      "REFRESH MATERIALIZED VIEW GROUP revenue" -> StatementKind.RefreshGroup,
      "REFRESH MATERIALIZED VIEW group" -> StatementKind.Refresh,
      "REFRESH MATERIALIZED VIEW group FULL" -> StatementKind.Refresh,
      "REFRESH MATERIALIZED VIEW group PARTITION (a = 1) FULL" -> StatementKind.Refresh,
      "REFRESH MATERIALIZED VIEW group.v" -> StatementKind.Refresh,
      "REFRESH MATERIALIZED VIEW `group` FULL" -> StatementKind.Refresh,
      "REFRESH MATERIALIZED VIEW GROUP 'full'" -> StatementKind.RefreshGroup,
      "REFRESH MATERIALIZED VIEW GROUP fuller" -> StatementKind.RefreshGroup,
      "DESC MATERIALIZED VIEW GROUP `revenue`" -> StatementKind.DescribeGroup,
      "DESCRIBE MATERIALIZED VIEW group;" -> StatementKind.Describe,
      "SHOW MATERIALIZED VIEW GROUPS" -> StatementKind.ShowGroups)
      .foreach { case (text, kind) => assert(parser.parsePlan(text) == asked(kind, text), text) }
  }

  test("every other statement is parsed by Spark") {
    assert(session.sql("SELECT 1 + 1 AS two").head().getInt(0) == 2)
    assert(session.sql("EXPLAIN SELECT 1").head().getString(0).contains("Physical Plan"))
    val wrong = intercept[ParseException](session.sql("SELEKT 1"))
    assert(wrong.getCondition == "PARSE_SYNTAX_ERROR")
  }

  test("a statement of Headwater's in a nested comment is none") {
    assert(session.sql("/* off /* refresh all */ REFRESH MATERIALIZED VIEWS; */ SELECT 1").head().getInt(0) == 1)
    val behind = "/* off /* refresh all */ */ SHOW REFRESHES LIMIT 2"
    assert(parser.parsePlan(behind) == asked(StatementKind.ShowRefreshes, behind))
  }

  test("a scripting block is parsed by Spark, with its parameters") {
    assert(parser.parsePlan("BEGIN DECLARE x = 1; SELECT x; END").isInstanceOf[CompoundBody])
    assert(session.sql("BEGIN DECLARE x = 1; SELECT x + 1; END").head().getInt(0) == 2)
  }

  test("parameters reach Spark's parser") {
    assert(session.sql("SELECT :n + 1", Map("n" -> 41)).head().getInt(0) == 42)
    assert(session.sql("SELECT ? || ?", Array("a", "b")).head().getString(0) == "ab")
  }

  test("parameters are substituted in a statement of Headwater's") {
    val named = NamedParameterContext(Map("n" -> Literal(3)))
    assert(parser.parsePlanWithParameters("SHOW REFRESHES LIMIT :n", named) ==
      asked(StatementKind.ShowRefreshes, "SHOW REFRESHES LIMIT 3"))
    val positional = PositionalParameterContext(Seq(Literal("it's"), Literal(java.time.LocalDate.of(1996, 3, 1))))
    assert(parser.parsePlanWithParameters("REFRESH MATERIALIZED VIEW `?🌊` PARTITION (a = ?, b = ?) -- why?", positional) ==
      asked(StatementKind.Refresh, "REFRESH MATERIALIZED VIEW `?🌊` PARTITION (a = 'it\\'s', b = DATE '1996-03-01') -- why?"))
  }

  test("a parameter that has no value is Spark's own error") {
    val wrong = intercept[Exception] {
      parser.parsePlanWithParameters("SHOW REFRESHES LIMIT :m", NamedParameterContext(Map("n" -> Literal(3))))
    }
    assert(wrong.getMessage.contains("UNBOUND_SQL_PARAMETER"))
  }

  test("CREATE MATERIALIZED VIEW is Spark's own node, and OR REPLACE a tag on it") {
    assert(!replaces(parser.parsePlan("CREATE MATERIALIZED VIEW v AS SELECT 1 AS one")))
    val replacing = parser.parsePlan("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 AS one")
    assert(replaces(replacing))
    assert(creation(replacing).originalText == "SELECT 1 AS one")
  }

  test("an error after OR REPLACE points at the place in the user's text") {
    val sql = "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 FROM )"
    val wrong = intercept[ParseException](parser.parsePlan(sql))
    assert(wrong.getMessage.contains("pos 55"))
  }

  test("expressions, identifiers and types are parsed by Spark") {
    assert(parser.parseExpression("1 + 1").sql == "(1 + 1)")
    assert(parser.parseMultipartIdentifier("a.`b c`") == Seq("a", "b c"))
    assert(parser.parseTableIdentifier("a.b").unquotedString == "a.b")
    assert(parser.parseFunctionIdentifier("f").unquotedString == "f")
    assert(parser.parseDataType("array<int>").sql == "ARRAY<INT>")
    assert(parser.parseTableSchema("a INT, b STRING").fieldNames.toSeq == Seq("a", "b"))
    assert(parser.parseQuery("SELECT 1").nodeName == "Project")
  }
}
