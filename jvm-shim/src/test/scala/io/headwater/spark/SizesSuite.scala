package io.headwater.spark

import java.io.File
import java.net.URI

import org.json4s._
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

class SizesSuite extends AnyFunSuite {
  private implicit val formats: Formats = DefaultFormats

  /** Lines of 12 + 8 bytes with what Spark adds for a row, and the days they are of. */
  private lazy val session = {
    val made = LocalSpark.emptyShop()
    made.sql("CREATE TABLE lines USING parquet AS SELECT id, int(id % 4) AS price, id % 2 AS day FROM range(1000)")
    made.sql("CREATE TABLE days USING parquet AS SELECT id AS day, concat('day ', id) AS name FROM range(2)")
    made.sql("CREATE TABLE parts USING parquet PARTITIONED BY (day) AS SELECT * FROM lines")
    made.sql("CREATE TABLE empty (id BIGINT) USING parquet")
    made
  }

  private def bytes(table: String): Double =
    session.table(table).inputFiles.map(file => new File(new URI(file)).length.toDouble).sum

  private def foreseen(query: String, known: String = "{}"): (Double, Double) = {
    val found = parse(Sizes.estimate(session, query, known))
    ((found \ "size").extract[Double], (found \ "read").extract[Double])
  }

  private def alike(found: (Double, Double), size: Double, read: Double): Unit =
    assert(math.abs(found._1 - size) <= 1 && math.abs(found._2 - read) <= 1, s"$found is not ($size, $read)")

  test("a table is as large as its files, and part of its columns is that part of it") {
    val all = bytes("lines")
    alike(foreseen("SELECT * FROM lines"), all, all)
    alike(foreseen("SELECT id FROM lines"), all * 16 / 28, all * 16 / 28)
    alike(foreseen("SELECT id FROM lines WHERE price > 2"), all * 16 / 28, all * 20 / 28)
  }

  test("a join by equal keys has the rows of its larger side, and the columns of both") {
    val (lines, days) = (bytes("lines"), bytes("days"))
    alike(foreseen("SELECT lines.*, name FROM lines JOIN days USING (day)"), lines * 48 / 28, lines + days)
    alike(foreseen("SELECT * FROM lines LEFT SEMI JOIN days USING (day)"), lines, lines + days * 16 / 36)
  }

  test("groups are as many as rows at most, and a sum of everything is one row") {
    val all = bytes("lines")
    alike(foreseen("SELECT day, sum(price) AS sum FROM lines GROUP BY day"), all * 24 / 28, all * 20 / 28)
    alike(foreseen("SELECT sum(price) AS sum FROM lines"), 16, all * 12 / 28)
    alike(foreseen("SELECT id FROM lines UNION ALL SELECT id FROM lines"), all * 32 / 28, all * 32 / 28)
    alike(foreseen("SELECT id FROM lines ORDER BY id LIMIT 3"), 48, all * 16 / 28)
  }

  test("a table with partitions is as large as those that are read, though nobody analysed it") {
    val all = bytes("parts")
    alike(foreseen("SELECT * FROM parts"), all, all)
    alike(foreseen("SELECT day, sum(price) AS sum FROM parts GROUP BY day"), all * 24 / 28, all * 20 / 28)
    val (some, read) = foreseen("SELECT * FROM parts WHERE day = 1")
    assert(some == read && some > all / 4 && some < all * 3 / 4)
  }

  test("what lies in no storage is not read from there") {
    alike(foreseen("SELECT id FROM range(10)"), 80, 0)
  }

  test("what is to be filled is as large as it is said to become") {
    alike(foreseen("SELECT * FROM empty", """{"shop.empty": 4000}"""), 4000, 4000)
    alike(foreseen("SELECT * FROM empty", """{"shop.other": 4000}"""), 0, 0)
  }

  test("nobody can say how large a result is that no files tell of") {
    Seq(
      "SELECT a.* FROM lines a, lines b, lines c, lines d, lines e, lines f, lines g, lines h",
      "SELECT explode(sequence(0, id)) AS id FROM lines").foreach { query =>
      assert(Sizes.estimate(session, query, "{}") == "null", query)
    }
  }
}
