package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.headwater.Access
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}
import org.scalatest.funsuite.AnyFunSuite

class PublicationSuite extends AnyFunSuite {
  private def catalog(session: SparkSession) = Access.classic(session).sharedState.externalCatalog

  private def publish(session: SparkSession, request: String): JValue = parse(Publication.publish(session, request))

  private val owned = "'headwater.owner' = '0cc175b9c0f1b6a831c399e269772661'"

  private def partitioned(): SparkSession = {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE monthly_revenue (revenue BIGINT, month DATE) USING parquet PARTITIONED BY (month) " +
      s"LOCATION '${LocalSpark.warehouse}/shop.db/monthly_revenue' TBLPROPERTIES ($owned)")
    session
  }

  /** Publishes one row in each month, at this version, from files that are really there. */
  private def fill(session: SparkSession, version: Long, months: String*): JValue = {
    val root = s"${LocalSpark.warehouse}/shop.db/monthly_revenue/.v$version/data"
    val parts = months.map { month =>
      session.sql(s"SELECT ${version}L AS revenue").write.parquet(s"$root/month=$month")
      s"""{"spec": {"month": "$month"}, "location": "$root/month=$month", "rows": 1, "bytes": 100}"""
    }
    publish(session, s"""{"table": "shop.monthly_revenue", "owner": "0cc175b9c0f1b6a831c399e269772661", "version": $version,
      "partitions": [${parts.mkString(",")}], "removed": []}""")
  }

  private def content(session: SparkSession): Set[(String, Long)] =
    session.table("shop.monthly_revenue").collect().map(row => (String.valueOf(row.get(1)), row.getLong(0))).toSet

  test("the golden requests and answers: partitions") {
    val session = partitioned()
    fill(session, 1762000000001L, "1996-02-01", "1996-03-01")
    val answer = publish(session, LocalSpark.here("publish_request_partitions"))
    assert(sorted(answer \ "superseded") == sorted(parse(LocalSpark.here("publish_answer_superseded")) \ "superseded"))
    val found = catalog(session).listPartitions("shop", "monthly_revenue")
    assert(found.map(_.spec("month")).toSet == Set("1996-03-01", "__HIVE_DEFAULT_PARTITION__"))
    assert(found.forall(_.parameters("headwater.version") == "1762000000123"))
    val march = found.find(_.spec("month") == "1996-03-01").get
    assert(march.storage.locationUri.get.toString.endsWith("/.v1762000000123/data/month=1996-03-01"))
    assert(march.stats.get.rowCount.contains(BigInt(25)) && march.stats.get.sizeInBytes == 1204)
    val stats = catalog(session).getTable("shop", "monthly_revenue").stats.get
    assert(stats.rowCount.contains(BigInt(26)) && stats.sizeInBytes == 1815)
  }

  test("the golden requests and answers: a whole table, fenced") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE revenue (x BIGINT) USING parquet " +
      s"LOCATION '${LocalSpark.warehouse}/shop.db/revenue/.v0/data' TBLPROPERTIES ($owned, 'headwater.version' = '1762000000999')")
    assert(publish(session, LocalSpark.here("publish_request_whole")) == Golden.json("publish_answer_fenced"))
    session.sql("ALTER TABLE revenue SET TBLPROPERTIES ('headwater.version' = '1762000000122')")
    val answer = publish(session, LocalSpark.here("publish_request_whole"))
    assert(answer == parse(s"""{"superseded": ["${LocalSpark.warehouse}/shop.db/revenue/.v0/data"], "unchanged": [], "kept": false}"""))
    val moved = catalog(session).getTable("shop", "revenue")
    assert(moved.location.toString.endsWith("/shop.db/revenue/.v1762000000123/data"))
    assert(moved.properties("headwater.version") == "1762000000123")
    assert(moved.stats.get.rowCount.contains(BigInt(31)))
  }

  test("readers find what is published, partition by partition, and old files stay") {
    val session = partitioned()
    fill(session, 1, "1996-01-01", "1996-02-01")
    assert(content(session) == Set(("1996-01-01", 1), ("1996-02-01", 1)))
    fill(session, 2, "1996-02-01", "1996-03-01")
    assert(content(session) == Set(("1996-01-01", 1), ("1996-02-01", 2), ("1996-03-01", 2)))
    assert(Files.names(session, s"${LocalSpark.warehouse}/shop.db/monthly_revenue/.v1/data").contains("1996-02-01"))
  }

  test("unchanged is what takes the place of the files that were said to be there") {
    val session = partitioned()
    fill(session, 1, "1996-01-01", "1996-02-01")
    val root = s"${LocalSpark.warehouse}/shop.db/monthly_revenue"
    val JString(january) = parse(Files.written(session, s"$root/.v1/data", 1)).children
      .find(_ \ "values" == parse("""{"month": "1996-01-01"}""")).get \ "fingerprint"
    val parts = Seq("1996-01-01", "1996-02-01", "1996-03-01").map(month =>
      s"""{"spec": {"month": "$month"}, "location": "$root/.v2/data/month=$month", "was": "$january"}""")
    val answer = publish(session, s"""{"table": "shop.monthly_revenue", "owner": "0cc175b9c0f1b6a831c399e269772661", "version": 2,
      "partitions": [${parts.mkString(",")}], "removed": []}""")
    assert(answer \ "unchanged" == parse(s"""["$root/.v2/data/month=1996-01-01"]"""))
  }

  test("one higher version among its partitions fences a whole publication") {
    val session = partitioned()
    fill(session, 5, "1996-01-01")
    fill(session, 3, "1996-02-01")
    assert(fill(session, 4, "1996-01-01", "1996-02-01", "1996-03-01") == parse("""{"fenced": 5}"""))
    assert(content(session) == Set(("1996-01-01", 5), ("1996-02-01", 3)))
  }

  test("a publication that is repeated changes nothing and supersedes nothing of its own") {
    val session = partitioned()
    val request = LocalSpark.here("publish_request_partitions")
    publish(session, request)
    assert(publish(session, request) == parse("""{"superseded": [], "unchanged": [], "kept": false}"""))
    assert(catalog(session).getTable("shop", "monthly_revenue").stats.get.rowCount.contains(BigInt(26)))
  }

  test("a removed partition leaves the catalog; one that is not there is no error") {
    val session = partitioned()
    fill(session, 1, "1996-01-01", "1996-02-01")
    val answer = publish(session, """{"table": "shop.monthly_revenue", "owner": "0cc175b9c0f1b6a831c399e269772661", "version": 2, "partitions": [],
      "removed": [{"month": "1996-01-01"}, {"month": "2000-01-01"}]}""")
    assert((answer \ "superseded").asInstanceOf[JArray].arr.size == 1)
    assert(content(session) == Set(("1996-02-01", 1)))
    assert(catalog(session).getTable("shop", "monthly_revenue").stats.get.rowCount.contains(BigInt(1)))
  }

  test("more partitions than are looked up one by one") {
    val session = partitioned()
    val parts = (1 to 40).map { n =>
      val month = f"${1900 + n}%d-01-01"
      s"""{"spec": {"month": "$month"}, "location": "${LocalSpark.warehouse}/v/month=$month", "rows": 1, "bytes": 1}"""
    }
    def request(version: Int) =
      s"""{"table": "shop.monthly_revenue", "owner": "0cc175b9c0f1b6a831c399e269772661", "version": $version, "partitions": [${parts.mkString(",")}]}"""
    assert(publish(session, request(7)) == parse("""{"superseded": [], "unchanged": [], "kept": false}"""))
    assert(publish(session, request(6)) == parse("""{"fenced": 7}"""))
    assert(catalog(session).listPartitions("shop", "monthly_revenue").size == 40)
  }

  test("a name that needs quotes") {
    val session = LocalSpark.emptyShop()
    session.sql(s"CREATE TABLE `2024` (x BIGINT) USING parquet TBLPROPERTIES ($owned)")
    publish(session, s"""{"table": "shop.2024", "owner": "0cc175b9c0f1b6a831c399e269772661", "version": 1, "location": "${LocalSpark.warehouse}/shop.db/2024/.v1/data",
      "rows": 0, "bytes": 0}""")
    val moved = Access.classic(session).sessionState.catalog.getTableMetadata(TableIdentifier("2024", Some("shop")))
    assert(moved.properties("headwater.version") == "1")
  }

  test("a table that is not the view's is left alone") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE revenue (x BIGINT) USING parquet")
    val before = catalog(session).getTable("shop", "revenue")
    assert(publish(session, LocalSpark.here("publish_request_whole")) == parse("""{"stranger": true}"""))
    assert(catalog(session).getTable("shop", "revenue") == before)
  }

  private def sorted(locations: JValue): List[String] =
    locations.asInstanceOf[JArray].arr.map(each => compact(render(each))).sorted
}
