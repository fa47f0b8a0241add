package io.headwater.spark

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.scalatest.funsuite.AnyFunSuite

class OverlaySuite extends AnyFunSuite {
  private val root = s"${LocalSpark.warehouse}/shop.db/monthly_revenue"

  private def write(session: SparkSession, place: String, revenue: Long): Unit =
    session.sql(s"SELECT ${revenue}L AS revenue").write.parquet(place)

  /** A view with revenue 1 in January, 2 in March and 3 where the month is null; what is made in memory is 20 and 30. */
  private def partitioned(): SparkSession = {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE monthly_revenue (revenue BIGINT, month DATE) USING parquet PARTITIONED BY (month) " +
      s"LOCATION '$root' TBLPROPERTIES ('${Views.Marker}' = '{}', '${Publication.Owner}' = 'me')")
    Seq("1996-01-01" -> 1, "1996-03-01" -> 2, "__HIVE_DEFAULT_PARTITION__" -> 3).foreach { case (month, revenue) =>
      write(session, s"$root/.v1/data/month=$month", revenue)
      write(session, s"${LocalSpark.warehouse}/shop.db/memory/v7/data/month=$month", 10 * revenue)
    }
    Publication.publish(session, s"""{"table": "shop.monthly_revenue", "owner": "me", "version": 1, "removed": [], "partitions": [
      {"spec": {"month": "1996-01-01"}, "location": "$root/.v1/data/month=1996-01-01", "rows": 1, "bytes": 1},
      {"spec": {"month": "1996-03-01"}, "location": "$root/.v1/data/month=1996-03-01", "rows": 1, "bytes": 1},
      {"spec": {"month": "__HIVE_DEFAULT_PARTITION__"}, "location": "$root/.v1/data/month=__HIVE_DEFAULT_PARTITION__",
       "rows": 1, "bytes": 1}]}""")
    session
  }

  private def bytes(session: SparkSession, places: String*): Long =
    places.map(place => session.read.parquet(place).inputFiles.map(file => new java.io.File(new java.net.URI(file)).length).sum).sum

  private def causes(error: Throwable): Seq[Throwable] = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).toSeq

  private def overlaid[Result](session: SparkSession, json: String)(read: => Result): Result = {
    session.sparkContext.setLocalProperty(Overlay.Property, json)
    try read finally session.sparkContext.setLocalProperty(Overlay.Property, "")
  }

  private def rows(frame: DataFrame): Set[(String, Long)] =
    frame.select("month", "revenue").collect().map(row => (String.valueOf(row.get(0)), row.getLong(1))).toSet

  /** The golden overlay, of the files that are there. */
  private def golden: String = {
    val made = s"${LocalSpark.warehouse}/shop.db/memory/v7/data"
    val size = bytes(LocalSpark.session, s"$made/month=1996-03-01", s"$made/month=__HIVE_DEFAULT_PARTITION__")
    Golden.text("overlay").replace("file:/memory", s"${LocalSpark.warehouse}/shop.db/memory").replace("1815", size.toString)
  }

  test("the golden overlay: some partitions are elsewhere, one is gone, the others are as published") {
    val session = partitioned()
    val published = Set(("1996-01-01", 1L), ("1996-03-01", 2L), ("null", 3L))
    val seen = Set(("1996-01-01", 1L), ("1996-03-01", 20L), ("null", 30L))
    assert(overlaid(session, golden)(rows(session.table("monthly_revenue"))) == seen)
    assert(overlaid(session, golden)(rows(session.sql("SELECT * FROM shop.monthly_revenue"))) == seen)
    assert(rows(session.table("monthly_revenue")) == published)
  }

  test("partitions that are not asked for are not read, and a frame keeps what it was made of") {
    val session = partitioned()
    val march = overlaid(session, golden)(session.table("monthly_revenue").where("month = DATE '1996-03-01'"))
    assert(march.queryExecution.executedPlan.toString.contains("PartitionFilters: [isnotnull(month"))
    assert(rows(march) == Set(("1996-03-01", 20L)))
  }

  test("a view joined with itself is overlaid on both sides; whole, nothing of it is as published") {
    val session = partitioned()
    val whole = golden.replace("\"whole\": false", "\"whole\": true")
    val joined = overlaid(session, whole)(session.sql(
      "SELECT l.month, l.revenue + r.revenue AS revenue FROM monthly_revenue l JOIN monthly_revenue r ON l.month <=> r.month"))
    assert(rows(joined) == Set(("1996-03-01", 40L), ("null", 60L)))
  }

  test("what is gone is not read as if it were empty") {
    val session = partitioned()
    val overlay = golden
    Files.delete(session, s"${LocalSpark.warehouse}/shop.db/memory")
    val error = intercept[Exception](overlaid(session, overlay)(rows(session.table("monthly_revenue"))))
    assert(causes(error).exists(_.isInstanceOf[OverlayGone]))
  }

  test("an unpartitioned view") {
    val session = LocalSpark.emptyShop()
    write(session, s"${LocalSpark.warehouse}/shop.db/revenue/.v1/data", 1)
    write(session, s"${LocalSpark.warehouse}/shop.db/memory/v7/data", 10)
    session.sql(s"CREATE TABLE revenue (revenue BIGINT) USING parquet LOCATION " +
      s"'${LocalSpark.warehouse}/shop.db/revenue/.v1/data' TBLPROPERTIES ('${Views.Marker}' = '{}')")
    assert(session.table("revenue").collect().map(_.getLong(0)).toSeq == Seq(1))
    val overlay = s"""{"shop.revenue": {"whole": true, "without": [], "with":
      [{"spec": {}, "location": "${LocalSpark.warehouse}/shop.db/memory/v7/data"}],
      "bytes": ${bytes(session, s"${LocalSpark.warehouse}/shop.db/memory/v7/data")}}}"""
    assert(overlaid(session, overlay)(session.table("revenue").collect().map(_.getLong(0)).toSeq) == Seq(10))
  }

  test("rows that are held come in place of files, and stay what they are when their source is written to") {
    val session = partitioned()
    session.sql("CREATE TABLE source USING parquet AS SELECT DATE '1996-03-01' AS month, 20L AS revenue")
    Blocks.hold(session.table("source"), 7, "MEMORY_AND_DISK")
    assert(Blocks.size(7) > 0)
    session.sql("INSERT INTO source VALUES (DATE '1996-05-01', 99L)")
    val part = """{"shop.monthly_revenue": {"whole": false, "held": 7, "bytes": 0, "with": [],
      "without": [{"month": "1996-03-01"}]}}"""
    def seen(json: String) = rows(overlaid(session, json)(session.table("monthly_revenue")))
    assert(seen(part) == Set(("1996-01-01", 1L), ("1996-03-01", 20L), ("null", 3L)))
    assert(seen(part.replace("false", "true")) == Set(("1996-03-01", 20L)))
    val joined = overlaid(session, part)(session.sql(
      "SELECT l.month, l.revenue + r.revenue AS revenue FROM monthly_revenue l JOIN monthly_revenue r ON l.month <=> r.month"))
    assert(rows(joined) == Set(("1996-01-01", 2L), ("1996-03-01", 40L), ("null", 6L)))
    assert(rows(Blocks.frame(session, 7).select("month", "revenue")) == Set(("1996-03-01", 20L)))
    Blocks.release(7)
    val error = intercept[Exception](seen(part))
    assert(error.toString.contains("does not hold") && Blocks.size(7) == 0 && Blocks.room(session) > 0)
    Blocks.hold(session.table("source"), 8, "MEMORY_AND_DISK")
    Blocks.releaseAll()
    assert(Blocks.size(8) == 0)
  }

  test("a place can be measured") {
    val session = LocalSpark.emptyShop()
    assert(Files.probe(session, s"${LocalSpark.warehouse}/shop.db/probed", 3 << 20, 2).contains("\"write\""))
    assert(Files.names(session, s"${LocalSpark.warehouse}/shop.db/probed") == "[]")
  }
}
