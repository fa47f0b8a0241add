package io.headwater.spark

import org.apache.spark.sql.Row
import org.apache.spark.sql.headwater.{Access, HeadwaterException}
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, render}
import org.scalatest.funsuite.AnyFunSuite

/** What the shim sends is what the golden files say, to the letter; what they say is what it reads. */
class ProtocolSuite extends AnyFunSuite {

  private val hints = Seq(
    "hint_table" -> Hint(table = Some("shop.lineitem"), command = "INSERT INTO", kind = CommandKind.Insert),
    "hint_partitions" -> Hint(
      table = Some("shop.lineitem"), partitions = Seq(Map("l_month" -> Some("1996-03-01")), Map("l_month" -> None)),
      command = "DROP PARTITION", kind = CommandKind.Alter),
    "hint_path" -> Hint(
      path = Some("file:/warehouse/shop.db/lineitem/l_month=1996-03-01"), command = "INSERT OVERWRITE", kind = CommandKind.Insert),
    "hint_renamed" -> Hint(
      table = Some("shop.lineitem"), renamed = Some("shop.line_item"), command = "ALTER TABLE RENAME",
      kind = CommandKind.Alter),
    "hint_database" -> Hint(database = Some("shop"), command = "DROP DATABASE", kind = CommandKind.Drop),
    "hint_watermark" -> Hint(
      table = Some("shop.orders"), command = "a batch of a stream", kind = CommandKind.Stream, watermark = Some(1711843200000L)))

  for ((name, hint) <- hints) test(name) { same(Wire.encode("hint", hint), name) }

  test("a told message waits until it is pulled, once") {
    Bridge.forget()
    Bridge.tell(hints.head._2)
    same(Bridge.poll(0), "hint_table")
    assert(Bridge.poll(0) == "")
  }

  test("hints do not pile up without end when nobody pulls them") {
    Bridge.forget()
    (1 to Bridge.Most + 5).foreach(_ => Bridge.tell(hints.head._2))
    assert(Iterator.continually(Bridge.poll(0)).takeWhile(_ != "").size == Bridge.Most)
  }

  for (name <- Seq("publish_request_partitions", "publish_request_whole")) test(s"$name is read") {
    val asked = Wire.decode[PublicationRequest](Golden.text(name))
    assert(asked.owner == "0cc175b9c0f1b6a831c399e269772661" && asked.version == 1762000000123L)
    assert(asked.partitions.map(_.was) == (if (name.endsWith("whole")) Nil else Seq(Some("f" * 32), None)))
    assert(asked.location.nonEmpty == asked.partitions.isEmpty && asked.shape.isEmpty)
  }

  test("pins are read") {
    val pins = Wire.decode[Map[String, Pin]](Golden.text("pins"))
    assert(pins("shop.lineitem") == Pin(
      "7", Seq(Seq("l_month", "`l_month`"), Seq("l_price", "CAST(`l_price` AS DECIMAL(12,2))"))))
    assert(pins("path:file:/landing") == Pin(
      "2 9f3a", Nil, files = true, until = "`at` <= TIMESTAMP'1996-03-01 00:00:00'"))
    assert(pins("shop.customer") == Pin("", Nil, rows = Some("shop.monthly_revenue 12")))
    assert(pins("shop.nation") == Pin("", Nil, live = true))
  }

  test("answers to a publication") {
    same(Wire.encode(Fenced(1762000000999L)), "publish_answer_fenced")
    assert(Wire.encode(Stranger()) == """{"stranger":true}""" && Wire.encode(Misfit()) == """{"misfit":true}""")
  }

  test("abandoned") { same(Wire.encode("abandoned", Abandoned(3)), "abandoned") }

  test("statement") {
    same(Bridge.asked(3, LocalSpark.emptyShop(), StatementQuestion(StatementKind.Refresh, text)), "statement")
  }

  test("the kind of the golden statement is the one recognised") {
    assert(LocalSpark.parser.parsePlan(text) == AskedStatement(StatementQuestion(StatementKind.Refresh, text)))
  }

  test("wait") {
    val hint = Hint(
      table = Some("shop.lineitem"), partitions = Seq(Map("l_month" -> Some("1996-03-01"))), command = "INSERT OVERWRITE",
      kind = CommandKind.Insert)
    same(Bridge.asked(4, LocalSpark.emptyShop(), WaitQuestion(Seq(hint))), "wait")
  }

  test("dropping") {
    same(Bridge.asked(5, LocalSpark.emptyShop(), DroppingQuestion("shop.monthly_revenue")), "dropping")
  }

  test("pinning") {
    val asked = PinningQuestion(Seq("shop.monthly_revenue", "shop.lineitem"), Some(42), Some(45), sources = true)
    same(Bridge.asked(6, LocalSpark.emptyShop(), asked), "pinning")
    assert(Wire.decode[PinningAnswer](Golden.text("read_at")).pins("shop.monthly_revenue") == Pin("7", Nil))
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

  test("what no view keeps is refused by name") {
    val asked = """CREATE MATERIALIZED VIEW plain (price DECIMAL(12,2) NOT NULL, month DATE DEFAULT DATE '2024-01-01')
      DEFAULT COLLATION UTF8_LCASE AS SELECT l_price, l_month FROM lineitem"""
    val refused = intercept[HeadwaterException](created(3, asked)).text
    val named = Seq("NOT NULL of the column price", "DEFAULT of the column month", "DEFAULT COLLATION UTF8_LCASE")
    assert(refused.startsWith(s"shop.plain cannot have ${named.mkString(", ")}: "))
  }

  test("reply_rows: values take the types of the answer's columns") {
    val reply = Wire.decode[Reply](Golden.text("reply_rows"))
    val statement = answered(reply)
    assert(statement.output.map(_.name) == reply.columns.map(_.name))
    val Seq(done, failed) = statement.run(LocalSpark.session)
    assert(done == Row(
      1762000000123L, "shop.monthly_revenue", "month=1996-03-01", "partition",
      "shop.lineitem[l_month=1996-03-01] was appended to", 1762000000123L, 31L,
      new java.sql.Timestamp(1762000000456L), 1.9, 2.4, 3.1, 3.5, "published", null, "source.changed"))
    assert(failed.isNullAt(6) && failed.getDouble(8) == 2.0 && failed.isNullAt(9) && failed.isNullAt(11) && failed.getString(12) == "failed")
  }

  test("a reply whose values do not fit is refused by name of the type") {
    val wrong = intercept[IllegalStateException] {
      answered(Reply(Seq(AnswerColumn("result", "STRING")), Seq(Seq(JInt(1))))).run(LocalSpark.session)
    }
    assert(wrong.getMessage.contains("STRING"))
  }

  test("reply_error carries a text and no rows") {
    val reply = Wire.decode[Reply](Golden.text("reply_error"))
    assert(reply.error.exists(_.startsWith("there is no materialized view")) && reply.rows.isEmpty)
  }

  private lazy val text = (Golden.json("statement") \ "text").values.toString

  private def created(id: Long, sql: String): String = {
    val session = Access.classic(LocalSpark.emptyShop())
    session.sql("CREATE TABLE lineitem (l_price DECIMAL(12,2), l_month DATE) USING parquet PARTITIONED BY (l_month)")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW fresh_lines AS SELECT * FROM lineitem")
    val plan = session.sessionState.analyzer.execute(LocalSpark.parser.parsePlan(sql))
    Bridge.asked(id, session, plan.collectFirst { case AskedStatement(question) => question }.get)
  }

  private def answered(reply: Reply): HeadwaterStatement =
    HeadwaterStatement(StatementQuestion(StatementKind.Refresh, text), reply)

  private def same(sent: String, golden: String): Unit =
    assert(sent == compact(render(Golden.json(golden))))
}
