package io.headwater.spark

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.CommandExecutionMode
import org.apache.spark.sql.headwater.Access
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}
import org.scalatest.funsuite.AnyFunSuite

/** What the shim sends is what the golden files say, to the letter; what they say is what it reads. */
class ProtocolSuite extends AnyFunSuite {

  private val hints = Seq(
    "hint_table" -> Hint(table = Some("shop.lineitem"), command = "INSERT INTO"),
    "hint_partitions" -> Hint(
      table = Some("shop.lineitem"), partitions = Seq(Map("l_month" -> "1996-03-01"), Map("l_month" -> null)),
      command = "DROP PARTITION"),
    "hint_path" -> Hint(
      path = Some("file:/warehouse/shop.db/lineitem/l_month=1996-03-01"), command = "INSERT OVERWRITE"),
    "hint_renamed" -> Hint(
      table = Some("shop.lineitem"), renamed = Some("shop.line_item"), command = "ALTER TABLE RENAME"),
    "hint_database" -> Hint(database = Some("shop"), command = "DROP DATABASE"))

  for ((name, hint) <- hints) test(name) { same(Bridge.message("hint", hint.json), name) }

  test("a told message waits until it is pulled, once") {
    Bridge.forget()
    Bridge.tell("hint", hints.head._2.json)
    same(Bridge.poll(0), "hint_table")
    assert(Bridge.poll(0) == "")
  }

  test("hints do not pile up without end when nobody pulls them") {
    Bridge.forget()
    (1 to Bridge.Most + 5).foreach(_ => Bridge.tell("hint", hints.head._2.json))
    assert(Iterator.continually(Bridge.poll(0)).takeWhile(_ != "").size == Bridge.Most)
  }

  test("abandoned") { same(Bridge.message("abandoned", JObject("id" -> JLong(3))), "abandoned") }

  test("statement") {
    val body = JObject("kind" -> JString("refresh"), "text" -> (Golden.json("statement") \ "text"))
    same(Bridge.question(3, LocalSpark.emptyShop(), "statement", body), "statement")
  }

  test("the kind of the golden statement is the one recognised") {
    val JString(text) = Golden.json("statement") \ "text"
    assert(LocalSpark.parser.parsePlan(text) == HeadwaterStatement("refresh", text))
  }

  test("wait") {
    val hint = Hint(
      table = Some("shop.lineitem"), partitions = Seq(Map("l_month" -> "1996-03-01")), command = "INSERT OVERWRITE")
    same(Bridge.question(4, LocalSpark.emptyShop(), "wait", Waiting.message(Seq(hint))), "wait")
  }

  test("create, with OR REPLACE") {
    same(created(1, """CREATE OR REPLACE MATERIALIZED VIEW monthly_revenue USING parquet PARTITIONED BY (month)
      COMMENT 'what was sold' TBLPROPERTIES ('headwater.freshness' = '10 minutes')
      AS SELECT l_month AS month, sum(l_price) AS revenue FROM lineitem GROUP BY l_month"""), "create")
  }

  test("create, with columns, over a temporary view") {
    same(created(2, """CREATE MATERIALIZED VIEW IF NOT EXISTS recent (month DATE, price DECIMAL(12,2) COMMENT 'in euro')
      AS SELECT l_month, l_price FROM fresh_lines"""), "create_columns")
  }

  test("reply_rows: values take the types of the statement's columns") {
    val rows = Answer.rows("refresh", Golden.json("reply_rows"))
    assert(rows.map(_.size).distinct == Seq(11))
    val Seq(done, failed) = rows
    assert(done == Row(
      1762000000123L, "shop.monthly_revenue", "month=1996-03-01", "partition",
      "shop.lineitem[l_month=1996-03-01] was appended to", 1762000000123L, 31L,
      new java.sql.Timestamp(1762000000456L), 1.9, "published", null))
    assert(failed.isNullAt(6) && failed.getDouble(8) == 2.0 && failed.getString(9) == "failed")
  }

  test("a reply whose values do not fit is refused by name of the type") {
    val wrong = intercept[IllegalStateException](Answer.rows("drop", parse("""{"rows": [[1]]}""")))
    assert(wrong.getMessage.contains("STRING"))
  }

  test("reply_error carries a text and no rows") {
    assert((Golden.json("reply_error") \ "error").isInstanceOf[JString])
    assert(Answer.rows("refresh", Golden.json("reply_error")).isEmpty)
  }

  private def created(id: Long, sql: String): String = {
    val session = Access.classic(LocalSpark.emptyShop())
    session.sql("CREATE TABLE lineitem (l_price DECIMAL(12,2), l_month DATE) USING parquet PARTITIONED BY (l_month)")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW fresh_lines AS SELECT * FROM lineitem")
    val plan = session.sessionState.executePlan(LocalSpark.parser.parsePlan(sql), CommandExecutionMode.SKIP)
    plan.assertAnalyzed()
    val body = plan.analyzed.collectFirst { case CreateView(body) => body }.get
    Bridge.question(id, session, "create", body)
  }

  private def same(sent: String, golden: String): Unit =
    assert(sent == compact(render(Golden.json(golden))))
}
