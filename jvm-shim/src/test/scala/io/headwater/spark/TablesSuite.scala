package io.headwater.spark

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTablePartition, CatalogTableType}
import org.apache.spark.sql.headwater.{Access, TalliedStrategy}
import org.apache.spark.sql.hive.headwater.Metastore
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.StructType
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}
import org.scalatest.funsuite.AnyFunSuite

class TablesSuite extends AnyFunSuite {

  test("what is asked and answered is what the golden files say") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE lineitem (l_price DECIMAL(12,2), l_month DATE) USING parquet PARTITIONED BY (l_month)")
    session.sql("INSERT INTO lineitem VALUES (1, NULL), (2, DATE '1997-01-01')")
    val root = s"${LocalSpark.warehouse}/shop.db/lineitem"
    // A spelling that Spark would not write, but other programs do.
    Access.classic(session).sharedState.externalCatalog.createPartitions("shop", "lineitem", Seq(CatalogTablePartition(
      Map("l_month" -> "1996-3-1"),
      CatalogStorageFormat.empty.copy(locationUri = Some(new Path(s"$root/l_month=1996-3-1").toUri)),
      parameters = Map("headwater.version" -> "1762000000123"))), ignoreIfExists = false)
    session.sql("CREATE TABLE customer (c_name STRING) USING parquet " +
      "TBLPROPERTIES ('headwater.freshness' = '1 hour', 'owner.team' = 'x')")
    session.sql("INSERT INTO customer VALUES ('a')")
    session.sql("CREATE VIEW customer_names AS SELECT DISTINCT c_name FROM customer")
    Files.make(session, s"${LocalSpark.warehouse}/landing")
    session.sql("CREATE FUNCTION cleaned AS 'org.example.Cleaned' USING JAR 'file:/lib/cleaned.jar'")
    session.sql("CREATE TABLE elsewhere (x INT) USING parquet")
    val catalog = Access.classic(session).sharedState.externalCatalog
    val elsewhere = catalog.getTable("shop", "elsewhere")
    catalog.alterTable(elsewhere.copy(storage = elsewhere.storage.copy(locationUri = Some(new Path("lost://nowhere/x").toUri))))
    val found = Tables.observe(session, LocalSpark.here("observe_request"))
    assert(settled(parse(found)) == settled(parse(LocalSpark.here("observe_answer"))))
  }

  test("a table of a format that the application lacks cannot be read, and the remedy is said") {
    val session = LocalSpark.emptyShop()
    val catalog = Access.classic(session).sharedState.externalCatalog
    Seq("delta", "iceberg").foreach { format =>
      catalog.createTable(CatalogTable(
        TableIdentifier(format, Some("shop")), CatalogTableType.MANAGED,
        CatalogStorageFormat.empty.copy(locationUri = Some(new Path(s"${LocalSpark.warehouse}/shop.db/$format").toUri)),
        new StructType, provider = Some(format)), ignoreIfExists = false)
      assert(TableFormats.name(session, s"shop.$format") == "")
      val JString(said) = LocalSpark.table(s"shop.$format") \ "unreadable"
      assert(said.contains(s"table of ${format.capitalize}, which this application lacks; add ") && said.contains("-spark"))
    }
  }

  test("partition values are spelled as Spark would write them") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE t (x INT, n INT, b BOOLEAN, d DATE, s STRING) USING parquet PARTITIONED BY (n, b, d, s)")
    session.sql("INSERT INTO t PARTITION (n = '05', b = 'TRUE', d = '1996-3-1', s = 'a/b=c') VALUES (1)")
    assert(values(LocalSpark.table("shop.t")) ==
      List(Map("n" -> "5", "b" -> "true", "d" -> "1996-03-01", "s" -> "a/b=c")))
  }

  test("a partition is found by any spelling of its value") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE t (x INT, n INT) USING parquet PARTITIONED BY (n)")
    session.sql("INSERT INTO t VALUES (1, 5), (1, 6)")
    val found = LocalSpark.table("shop.t", parse("""[{"N": "05"}]"""))
    assert(found \ "asked" == parse("""[{"n": "5"}]"""))
    assert(values(found) == List(Map("n" -> "5")))
  }

  test("a partition whose value is spelled otherwise is found, and all are if the whole table is asked for") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE t (x INT, a INT, b INT) USING parquet PARTITIONED BY (a, b)")
    session.sql("INSERT INTO t VALUES (1, 1, 1)")
    Access.classic(session).sharedState.externalCatalog.createPartitions("shop", "t", Seq(CatalogTablePartition(
      Map("a" -> "05", "b" -> "06"), CatalogStorageFormat.empty)), ignoreIfExists = false)
    Seq("""[{"a": "5", "b": "6"}]""", """[{"b": "6"}]""").foreach { asked =>
      val found = LocalSpark.table("shop.t", parse(asked))
      assert(found \ "whole" == JBool(false))
      assert(values(found) == List(Map("a" -> "5", "b" -> "6")))
      assert((found \ "partitions")(0) \ "spec" == parse("""{"a": "05", "b": "06"}"""))
    }
    val whole = LocalSpark.observe("""[{"table": "shop.t", "partitions": [{"a": "1"}], "whole": true}]""").head
    assert(whole \ "asked" == parse("""[{"a": "1"}]""") && whole \ "whole" == JBool(true))
    assert(values(whole).toSet == Set(Map("a" -> "1", "b" -> "1"), Map("a" -> "5", "b" -> "6")))
  }

  test("an hour that the clock of the session's zone skips is a value of its own") {
    val session = LocalSpark.emptyShop().newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    session.sql("CREATE TABLE shop.t (x INT, at TIMESTAMP) USING parquet PARTITIONED BY (at)")
    val skipped = Map("at" -> "2024-03-31 02:30:00")
    Access.classic(session).sharedState.externalCatalog.createPartitions("shop", "t", Seq(CatalogTablePartition(
      skipped, CatalogStorageFormat.empty)), ignoreIfExists = false)
    val found = parse(Tables.observe(session, """[{"table": "shop.t", "partitions": [{"at": "2024-03-31 02:30"}], "whole": false}]"""))
    assert(values(found(0)) == List(skipped))
  }

  test("only the partitions asked for are listed, and those a partial spec leaves open") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE t (x INT, a INT, b INT) USING parquet PARTITIONED BY (a, b)")
    session.sql("INSERT INTO t VALUES (1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 2)")
    def asked(partitions: String) = values(LocalSpark.table("shop.t", parse(partitions))).map(v => v("a") + v("b")).toSet
    assert(asked("""[{"a": "1", "b": "2"}]""") == Set("12"))
    assert(asked("""[{"a": "1"}, {"a": "1", "b": "1"}]""") == Set("11", "12"))
    assert(asked("""[{"a": "9"}]""") == Set.empty)
    assert(asked("null") == Set("11", "12", "21", "22"))
  }

  test("a fingerprint changes exactly when the files of its partition do") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE t (x INT, n INT) USING parquet PARTITIONED BY (n)")
    session.sql("INSERT INTO t VALUES (1, 1), (1, 2)")
    val before = fingerprints(LocalSpark.table("shop.t"))
    assert(fingerprints(LocalSpark.table("shop.t")) == before)
    session.sql("INSERT OVERWRITE t PARTITION (n = 1) VALUES (1)")
    val after = fingerprints(LocalSpark.table("shop.t"))
    assert(after("1") != before("1"))
    assert(after("2") == before("2"))
  }

  test("an unpartitioned table has one partition, whose fingerprint changes with its files") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE t (x INT) USING parquet")
    def state() = (LocalSpark.table("shop.t") \ "partitions").asInstanceOf[JArray].arr.map(_ \ "fingerprint")
    val empty = state()
    session.sql("INSERT INTO t VALUES (1)")
    val one = state()
    session.sql("INSERT OVERWRITE t VALUES (1)")
    assert(Set(empty, one, state()).size == 3)
    assert(one.size == 1)
  }

  test("where a stream writes, the files are those that its log lists") {
    val session = LocalSpark.emptyShop()
    val (rows, sink) = (s"${LocalSpark.warehouse}/rows", s"${LocalSpark.warehouse}/sink")
    def batch(path: String): Unit = {
      session.sql("SELECT explode(array('a b', 'x/y')) AS day, 1 AS x").write.mode("append").json(rows)
      session.readStream.schema("x INT, day STRING").json(rows).writeStream.trigger(Trigger.AvailableNow())
        .option("checkpointLocation", s"$path.seen").partitionBy("day").start(path).awaitTermination()
    }
    session.sql(s"CREATE TABLE t (x INT, day STRING) USING parquet PARTITIONED BY (day) LOCATION '$sink'")
    batch(sink)
    def seen(): (JValue, JValue, JValue) = {
      val (path, table) = (LocalSpark.observe(s"""[{"table": "path:$sink"}]""").head, LocalSpark.table("shop.t", parse("""[{"day": "a b"}]""")))
      assert(values(table).toSet == Set(Map("day" -> "a b"), Map("day" -> "x/y")) && table \ "whole" == JBool(true))
      (path \ "partitions" \ "files", path \ "partitions" \ "fingerprint", table \ "partitions" \ "fingerprint")
    }
    val before = seen()
    session.sql("SELECT 1 AS x").write.mode("append").parquet(s"$sink/day=a b")
    assert(seen() == before, "a file that the log does not list is not read")
    batch(sink)
    val after = seen()
    assert(after._1 != before._1 && after._2 != before._2 && after._3 != before._3)
  }

  test("hidden files and directories are not part of a table") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE t (x INT) USING parquet")
    session.sql("INSERT INTO t VALUES (1)")
    val before = LocalSpark.table("shop.t")
    session.range(1).write.parquet(s"${LocalSpark.warehouse}/shop.db/t/.v2/data")
    assert(LocalSpark.table("shop.t") == before)
  }

  test("a key that no name has is refused") {
    val wrong = intercept[IllegalArgumentException](LocalSpark.observe("""[{"table": "x"}]"""))
    assert(wrong.getMessage.contains("not a table: x"))
  }

  test("written: the partition directories below a root, with their values unescaped") {
    val session = LocalSpark.emptyShop()
    val root = s"${LocalSpark.warehouse}/shop.db/by_note/.v1762000000123/data"
    session.sql("SELECT 1 AS x, DATE '1996-03-01' AS month, explode(array('a/b', NULL)) AS note")
      .write.partitionBy("month", "note").parquet(root)
    def sorted(json: String) = settled(parse(json)).asInstanceOf[JArray].arr.sortBy(each => compact(render(each)))
    assert(sorted(Files.written(session, root, 2)) == sorted(LocalSpark.here("written")))
    assert(Files.written(session, s"$root-not", 2) == "[]")
  }

  test("counted: rows and their sums by partition, spelled as their directories are, in any order of rows") {
    val session = LocalSpark.emptyShop().newSession()
    session.experimental.extraStrategies = Seq(TalliedStrategy(session)) // as the extension injects it
    def sums(query: String, files: Int, hashed: Boolean = true): Map[JValue, (JValue, JValue)] = {
      val counted = new Counted(session.sql(query).repartition(files), Seq("month", "note").asJava, hashed, exact = false, weight = "")
      val root = s"${LocalSpark.warehouse}/shop.db/counted"
      counted.counted.write.mode("overwrite").partitionBy("month", "note").parquet(root)
      parse(counted.sums).asInstanceOf[JArray].arr
        .map(each => (each \ "values") -> ((each \ "rows", each \ "content"))).toMap
    }
    val rows = "SELECT x, DATE '1996-03-01' AS month, IF(x = 1, '', 'a/b') AS note FROM VALUES (1), (2), (3) AS t(x)"
    val (gone, named) = ("note" -> JNull, "note" -> JString("a/b"))
    val List(null_, ab) = List(gone, named).map(note => JObject("month" -> JString("1996-03-01"), note))
    val found = sums(rows, 1)
    assert(found.map { case (values, (count, _)) => values -> count } == Map(null_ -> JInt(1), ab -> JInt(2)))
    assert(sums(rows, 3) == found)
    val other = sums(rows.replace("(3)", "(4)"), 1)
    assert(other(null_) == found(null_) && other(ab) != found(ab))
    assert(sums(rows, 2, hashed = false)(ab) == ((JInt(2), JString(""))))
  }

  test("counted: rows with a weight make the difference, and those that go are not written") {
    val session = LocalSpark.emptyShop().newSession()
    session.experimental.extraStrategies = Seq(TalliedStrategy(session))
    val root = s"${LocalSpark.warehouse}/shop.db/counted"
    def sum(values: String, weight: String = ""): (BigInt, BigInt) = {
      val frame = session.sql(s"SELECT * FROM VALUES $values").repartition(2)
      val counted = new Counted(frame, java.util.List.of(), hashed = true, exact = false, weight)
      counted.counted.write.mode("overwrite").parquet(root)
      val List(one) = parse(counted.sums).asInstanceOf[JArray].arr
      val (JInt(rows), JString(content)) = (one \ "rows", one \ "content"): @unchecked
      (rows, BigInt(content, 16))
    }
    val (before, after) = (sum("(1, 'a'), (2, 'b'), (3, NULL) AS t(x, y)"), sum("(1, 'a'), (3, NULL), (7, 'c'), (8, '') AS t(x, y)"))
    val (more, change) = sum("(1, 'a', 0), (2, 'b', -1), (3, NULL, 0), (7, 'c', 1), (8, '', 1) AS t(x, y, w)", "w")
    assert((before._1, more, after._1) == (3, 1, 4))
    assert((before._2 + change).mod(BigInt(1) << 128) == after._2)
    assert(session.read.parquet(root).columns.toSeq == Seq("x", "y"))
    assert(session.read.parquet(root).collect().map(_.getInt(0)).toSet == Set(1, 3, 7, 8))
  }

  test("spent: what was read of each table, and how long writing went on when all rows were there") {
    val session = LocalSpark.emptyShop().newSession()
    session.experimental.extraStrategies = Seq(TalliedStrategy(session))
    session.sql("CREATE TABLE shop.lines USING parquet AS SELECT id, id % 7 AS k FROM range(200000)")
    session.sql("CREATE TABLE shop.notes USING csv AS SELECT 1 AS k")
    val query = "SELECT a.k, count(*) AS n FROM shop.lines a JOIN shop.lines b ON a.id = b.id JOIN shop.notes t ON a.k = t.k GROUP BY a.k"
    val counted = new Counted(session.sql(query), java.util.List.of(), hashed = false, exact = false, weight = "")
    assert(parse(counted.spent) == parse("""{"reads": [], "writing": 0}"""))
    counted.counted.write.mode("overwrite").parquet(s"${LocalSpark.warehouse}/shop.db/counted")
    val spent = parse(counted.spent)
    val List(read) = (spent \ "reads").asInstanceOf[JArray].arr // of text files Spark does not say how long reading took
    assert(read \ "table" == JString("shop.lines"))
    val JInt(bytes) = read \ "bytes"
    val files = Files.state(session, Some(new Path(s"${LocalSpark.warehouse}/shop.db/lines")))
    assert(files.bytes == bytes.toLong)
    Seq(read \ "micros", spent \ "writing").foreach { case JInt(micros) => assert(micros > 0 && micros < 60000000) }
    assert(spent.asInstanceOf[JObject].values.keySet == Golden.json("spent").asInstanceOf[JObject].values.keySet)
  }

  test("views: those tables that carry the mark") {
    val session = LocalSpark.emptyShop()
    session.sql("CREATE TABLE plain (x INT) USING parquet")
    session.sql("CREATE TABLE monthly_revenue (x INT) USING parquet " +
      "TBLPROPERTIES ('headwater.view' = '1', 'headwater.freshness' = '10 minutes', 'owner.team' = 'x')")
    assert(settled(parse(CatalogViews.all(session))) == settled(Golden.json("views")))
  }

  test("an error of the metastore is told from an entry that Spark does not know") {
    val lost = new java.io.IOException("the metastore is gone")
    assert(Metastore.failed(new RuntimeException(new IllegalStateException(lost))))
    assert(!Metastore.failed(new IllegalArgumentException("an index is no table")))
  }

  test("versions are deleted with the parents that this empties, up to the root of their owner") {
    val session = LocalSpark.emptyShop()
    val root = s"${LocalSpark.warehouse}/shop.db/v"
    assert(Roots.claim(session, root, "me"))
    Seq("1/data/n=1", "2/data/n=1", "2/data/n=2").foreach(each => Files.make(session, s"$root/.v$each"))
    Roots.delete(session, root, "me", compact(render(JArray(List(s"$root/.v1/data/n=1", s"$root/.v2/data/n=2").map(JString(_))))))
    assert(parse(Files.names(session, root)).values.asInstanceOf[List[Any]].toSet == Set(".headwater", ".v2"))
    assert(Files.names(session, s"$root/.v2/data") == """["n=1"]""")
    assert(Files.names(session, s"$root/nothing") == "[]")
  }

  private def values(fact: JValue): List[Map[String, String]] =
    (fact \ "partitions").asInstanceOf[JArray].arr.map { each =>
      (each \ "values").asInstanceOf[JObject].obj.map { case (column, value) =>
        column -> (value match { case JString(text) => text; case _ => null })
      }.toMap
    }

  private def fingerprints(fact: JValue): Map[String, JValue] =
    values(fact).map(_("n")).zip((fact \ "partitions").asInstanceOf[JArray].arr.map(_ \ "fingerprint")).toMap

  /** Without what differs from run to run, though not without its type; objects in order of their fields. */
  private def settled(json: JValue): JValue = json match {
    case JObject(fields) => JObject(fields.sortBy(_._1).map {
      case (key @ ("fingerprint" | "snapshot"), JString(text)) if text.matches("(\\d+ )?[0-9a-f]{32}") => key -> JString("some")
      case (key @ "schema", JString(text)) => key -> JString(text.replaceAll(" [0-9a-f]{16}$", ""))
      case ("created", JInt(millis)) if millis > 0 => "created" -> JInt(1)
      case ("bytes", JInt(size)) if size > 0 => "bytes" -> JInt(1)
      case (key, value) => key -> settled(value)
    })
    case JArray(values) => JArray(values.map(settled))
    case other => other
  }
}
