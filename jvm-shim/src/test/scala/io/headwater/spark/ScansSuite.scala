package io.headwater.spark

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.json4s._
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

class ScansSuite extends AnyFunSuite {
  private val place = s"${LocalSpark.warehouse}/shop.db/memory/v-1/data"

  /** Ten lines a day of two days, in a table of two partitions or of none. */
  private def lines(partitioned: Boolean): SparkSession = {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE lines (id BIGINT, price INT, note STRING, day DATE) USING parquet" +
      (if (partitioned) " PARTITIONED BY (day)" else ""))
    session.sql("INSERT INTO lines SELECT id, id % 4, concat('n', id), date_add(DATE '1996-03-01', int(id % 2)) FROM range(20)")
    session
  }

  private def needs(frame: DataFrame): (Set[String], Set[Set[String]]) = {
    val found = parse(Scans.needs(frame)) \ "shop.lines"
    def texts(value: JValue) = value.asInstanceOf[JArray].arr.map(_.values.toString).toSet
    (texts(found \ "columns"), (found \ "rows").asInstanceOf[JArray].arr.map(texts).toSet)
  }

  private def overlaid(session: SparkSession, whole: Boolean, columns: String, without: String = "")(query: String) = {
    val bytes = session.read.parquet(place).inputFiles.map(file => new java.io.File(new java.net.URI(file)).length).sum
    session.sparkContext.setLocalProperty(Overlay.Property, s"""{"shop.lines": {"whole": $whole, "with": [],
      "without": [$without], "bytes": $bytes, "scan": "$place", "columns": [$columns]}}""")
    try session.sql(query).collect().map(_.toSeq.mkString(" ")).toSet
    finally session.sparkContext.setLocalProperty(Overlay.Property, "")
  }

  test("what a query needs: its columns, and conditions") {
    val session = lines(partitioned = false)
    assert(needs(session.sql("SELECT sum(price) FROM lines WHERE id > 3 AND note IN ('n4', 'n5')")) ==
      (Set("id", "price", "note"), Set(Set("(id > 3L)", "(note IN ('n4', 'n5'))", "(id IS NOT NULL)"))))
    assert(needs(session.sql("SELECT note FROM lines WHERE length(note) > 1 AND year(day) = 1996")) == (Set("day", "note"),
      Set(Set("(note IS NOT NULL)", "(day IS NOT NULL)", "(length(note) > 1)", "(year(day) = 1996)"))))
    session.udf.register("odd", (id: Long) => id % 2 == 1)
    assert(needs(session.sql("SELECT id FROM lines WHERE odd(id) OR id > rand()")) == (Set("id"), Set(Set())))
    assert(needs(session.sql("SELECT id FROM lines WHERE price = (SELECT max(price) FROM lines WHERE id < 9)")) ==
      (Set("id", "price"), Set(Set("(price IS NOT NULL)"), Set("(id < 9L)", "(id IS NOT NULL)"))))
  }

  test("what tells partitions apart is a column, and no condition") {
    val session = lines(partitioned = true)
    val (columns, rows) = needs(session.sql("SELECT day, price FROM lines WHERE day = DATE '1996-03-01' AND price > 1"))
    assert(columns == Set("day", "price") && rows == Set(Set("(price > 1)", "(price IS NOT NULL)")))
  }

  test("its conditions are read as they are written") {
    val session = lines(partitioned = false)
    val (_, rows) = needs(session.sql("SELECT id FROM lines WHERE day >= DATE '1996-03-02' AND note <> 'it''s \\\\'"))
    assert(session.table("lines").where(rows.head.mkString(" AND ")).count() == 10)
  }

  test("a scan is read in place of a table, and a query that wants more of it fails") {
    val session = lines(partitioned = false)
    session.table("lines").where("id > 3").select("id", "price").write.parquet(place)
    def scanned(query: String) = overlaid(session, whole = true, "\"id\", \"price\"")(query)
    assert(scanned("SELECT count(*), sum(price) FROM lines WHERE id > 10") == Set("9 15"))
    assert(scanned("SELECT max(l.id) FROM lines l JOIN lines r ON l.id = r.id") == Set("19"))
    assert(intercept[Exception](scanned("SELECT max(note) FROM lines")).toString.contains("note of spark_catalog.shop.lines was not scanned"))
  }

  test("what is scanned of some partitions is beside the others") {
    val session = lines(partitioned = true)
    session.table("lines").where("day = DATE '1996-03-02' AND price = 3").select("id", "price", "day").write.parquet(place)
    val second = """{"day": "1996-03-02"}"""
    assert(overlaid(session, whole = false, "\"id\", \"price\", \"day\"", second)(
      "SELECT day, count(*) FROM lines WHERE price = 3 OR day = DATE '1996-03-01' GROUP BY day") ==
      Set("1996-03-01 10", "1996-03-02 5"))
  }

  test("a table is read as it is if its partitions are not spelled as a scan has them") {
    val session = lines(partitioned = true)
    session.table("lines").where("day = DATE '1996-03-02'").select("id", "price", "day").write.parquet(place)
    assert(overlaid(session, whole = false, "\"id\", \"price\", \"day\"", """{"day": "1996-3-2"}""")(
      "SELECT count(*) FROM lines") == Set("20"))
  }

  test("a scan that is not all there any more is not read as if it were") {
    val session = lines(partitioned = false)
    session.table("lines").select("id").write.parquet(place)
    session.sparkContext.setLocalProperty(Overlay.Property, s"""{"shop.lines": {"whole": true, "with": [],
      "without": [], "bytes": 1, "scan": "$place", "columns": ["id"]}}""")
    try intercept[OverlayGone](session.sql("SELECT id FROM lines").collect())
    finally session.sparkContext.setLocalProperty(Overlay.Property, "")
  }
}
