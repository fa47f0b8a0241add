package io.headwater.spark

import org.scalatest.funsuite.AnyFunSuite

class StatementSuite extends AnyFunSuite {
  import Statement._

  private val own = Seq(
    "REFRESH MATERIALIZED VIEWS" -> StatementKind.Drain,
    "REFRESH MATERIALIZED VIEW v" -> StatementKind.Refresh,
    "REFRESH MATERIALIZED VIEW shop.v PARTITION (month = DATE '1996-03-01') FULL" -> StatementKind.Refresh,
    "REFRESH MATERIALIZED VIEW `a b`" -> StatementKind.Refresh,
    "VERIFY MATERIALIZED VIEW shop.v PARTITION (month = DATE '1996-03-01') REPAIR" -> StatementKind.Verify,
    "SHOW MATERIALIZED VIEWS" -> StatementKind.ShowViews,
    "SHOW MATERIALIZED VIEWS IN shop LIKE 'm*'" -> StatementKind.ShowViews,
    "SHOW REFRESHES" -> StatementKind.ShowRefreshes,
    "SHOW REFRESHES FOR v LIMIT 3" -> StatementKind.ShowRefreshes,
    "DESCRIBE MATERIALIZED VIEW v" -> StatementKind.Describe,
    "DESC MATERIALIZED VIEW EXTENDED v" -> StatementKind.Describe,
    "EXPLAIN REFRESH v" -> StatementKind.Explain,
    "EXPLAIN REFRESH `table`" -> StatementKind.Explain,
    "EXPLAIN REFRESH table_of_views" -> StatementKind.Explain,
    "EXPLAIN REFRESH MATERIALIZED VIEW v" -> StatementKind.Explain,
    "ALTER MATERIALIZED VIEW v SUSPEND" -> StatementKind.Alter,
    "ALTER MATERIALIZED VIEW v RESUME" -> StatementKind.Alter,
    "ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('headwater.freshness' = '1 hour')" -> StatementKind.Alter,
    "ALTER MATERIALIZED VIEW v RENAME TO w" -> StatementKind.Alter,
    "DROP MATERIALIZED VIEW v" -> StatementKind.Drop,
    "DROP MATERIALIZED VIEW IF EXISTS v" -> StatementKind.Drop)

  for ((sql, kind) <- own) {
    test(s"$sql is a statement of kind ${kind.word}") {
      assert(recognise(sql).contains(Own(kind)))
      assert(recognise(s"$sql;").contains(Own(kind)))
      assert(recognise(sql.toLowerCase).contains(Own(kind)))
    }
  }

  private val sparks = Seq(
    "SELECT 1",
    "REFRESH TABLE t",
    "REFRESH materialized_views",
    "REFRESH '/data/materialized view v'",
    "REFRESH MATERIALIZED",
    "SHOW TABLES",
    "SHOW VIEWS",
    "SHOW MATERIALIZED",
    "SHOW REFRESHES_OF t",
    "DESCRIBE TABLE materialized",
    "DESCRIBE materialized",
    "DESCRIBE MATERIALIZED VIEWS",
    "EXPLAIN SELECT 1",
    "EXPLAIN EXTENDED REFRESH TABLE t",
    "EXPLAIN REFRESH TABLE t",
    "EXPLAIN refresh/* */table/* */t",
    "EXPLAIN REFRESH FUNCTION f",
    "EXPLAIN REFRESH '/data/t'",
    "ALTER VIEW v AS SELECT 1",
    "DROP VIEW materialized",
    "DROP MATERIALIZED_VIEW v",
    "CREATE MATERIALIZED VIEW v AS SELECT 1",
    "CREATE OR REPLACE VIEW v AS SELECT 1",
    "CREATE OR REPLACE TEMPORARY VIEW materialized AS SELECT 1",
    "SELECT 'x' -- \nREFRESH MATERIALIZED VIEWS",
    "-- REFRESH MATERIALIZED VIEWS\nSELECT 1",
    "/* REFRESH MATERIALIZED VIEWS */ SELECT 1",
    "/* off /* refresh all */ REFRESH MATERIALIZED VIEWS; */ SELECT 1",
    "/* not closed /* */ REFRESH MATERIALIZED VIEWS",
    "/*+ a hint */ REFRESH MATERIALIZED VIEWS",
    "-- goes on \\\nREFRESH MATERIALIZED VIEWS",
    "/* /* a */ CREATE OR REPLACE */ CREATE MATERIALIZED VIEW v AS SELECT 1",
    "SELECT 'CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1'",
    "BEGIN REFRESH MATERIALIZED VIEWS; END",
    "BEGIN\n  CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1;\nEND",
    "")

  for (sql <- sparks) test(s"left to Spark: $sql") { assert(recognise(sql).isEmpty) }

  test("comments and blanks may stand before and between the words") {
    val sql = "\n-- nightly\n/* of the\n shop */ REFRESH --all\n\tMATERIALIZED/**/VIEWS"
    assert(recognise(sql).contains(Own(StatementKind.Drain)))
  }

  test("comments in brackets nest, as Spark's do") {
    val comments = Seq("/* a /* b */ ; */", "/* /* /* a */ */ -- */\n", "/*/*/ a */ */",
      "/* a /*+ no comment in one */", "/* a **/", "-- a \\\n b\n", "-- a\r")
    for (comment <- comments)
      assert(recognise(s"${comment}REFRESH$comment MATERIALIZED VIEWS").contains(Own(StatementKind.Drain)), comment)
  }

  test("any number of blank lines and comments may stand before a statement") {
    assert(recognise("\n" * 200000 + "SHOW REFRESHES").contains(Own(StatementKind.ShowRefreshes)))
    assert(recognise("-- a line\n" * 50000 + "SHOW REFRESHES").contains(Own(StatementKind.ShowRefreshes)))
    assert(recognise("/* a */" * 50000 + "SELECT 1").isEmpty)
    assert(recognise("/*" * 50000).isEmpty)
    assert(recognise("/*" * 50000 + "*/" * 50000 + "SHOW REFRESHES").contains(Own(StatementKind.ShowRefreshes)))
    assert(recognise("EXPLAIN REFRESH" + " " * 200000 + "v").contains(Own(StatementKind.Explain)))
  }

  test("OR REPLACE is blanked, and every other character keeps its place") {
    val sql = "/* 1 */ create or /* 2 */ replace materialized view v as select 'OR REPLACE'"
    val Some(Creation(stripped, false, true)) = recognise(sql)
    assert(stripped.length == sql.length)
    val nested = "/* /* 1 */ */ create or replace materialized view v as select 1"
    assert(recognise(nested).contains(
      Creation("/* /* 1 */ */ create            materialized view v as select 1", explained = false, orReplace = true)))
    assert(stripped == "/* 1 */ create                    materialized view v as select 'OR REPLACE'")
  }

  test("EXPLAIN of a creation is blanked, and a plain creation is Spark's") {
    val explained = "explain create or replace materialized view v as select 1"
    assert(recognise(explained).contains(
      Creation("        create            materialized view v as select 1", explained = true, orReplace = true)))
    assert(recognise("EXPLAIN CREATE MATERIALIZED VIEW v AS SELECT 1").contains(
      Creation("        CREATE MATERIALIZED VIEW v AS SELECT 1", explained = true, orReplace = false)))
    for (mode <- Seq("EXTENDED", "formatted", "COST", "/* all */ CODEGEN")) {
      val Some(Creation(stripped, true, false)) = recognise(s"EXPLAIN $mode CREATE MATERIALIZED VIEW v AS SELECT 1")
      assert(stripped.trim == "CREATE MATERIALIZED VIEW v AS SELECT 1")
    }
    assert(recognise("CREATE MATERIALIZED VIEW v AS SELECT 1").isEmpty)
    assert(recognise("EXPLAIN CREATE TABLE t AS SELECT 1").isEmpty)
  }
}
