package io.headwater.spark

import java.nio.file.{Files => Disk, Path => File}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headwater.Access
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/**
 * One local application for all suites, with an in-memory catalog and the shim's parser and strategy but
 * not its listener, so that no engine is started. `file:/warehouse` of the golden messages lies in a
 * directory of the run.
 */
object LocalSpark {
  private lazy val home: File = Disk.createTempDirectory("headwater-shim")

  def warehouse: String = s"file:$home"

  lazy val session: SparkSession = {
    val made = SparkSession.builder().master("local[2]").appName("shim suites")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.shuffle.partitions", "1")
      .config("spark.sql.session.timeZone", "UTC")
      .config("spark.sql.warehouse.dir", warehouse)
      .config("spark.sql.catalogImplementation", "in-memory")
      .withExtensions { extensions =>
        extensions.injectParser((_, spark) => new StatementParser(spark))
        extensions.injectPostHocResolutionRule(session => TakeOverCreate(session))
        extensions.injectResolutionRule(session => Overlay(session))
      }
      .getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    made.sql("CREATE DATABASE shop")
    sys.addShutdownHook { made.stop(); remove(home) }
    made
  }

  /** The session's database is the golden messages' one, and is empty. */
  def emptyShop(): SparkSession = {
    session.sql("USE default")
    session.sql("DROP DATABASE IF EXISTS shop CASCADE")
    remove(home.resolve("shop.db"))
    session.sql("CREATE DATABASE shop")
    session.sql("USE shop")
    session
  }

  def parser: StatementParser =
    Access.classic(session).sessionState.sqlParser.asInstanceOf[StatementParser]

  /** A golden message with its paths in this run's directory. */
  def here(name: String): String = Golden.text(name).replace("file:/warehouse", warehouse)

  def observe(asked: String): List[JValue] = parse(Tables.observe(session, asked)).asInstanceOf[JArray].arr

  def table(name: String, partitions: JValue = JNull): JValue =
    observe(compact(render(JArray(List(JObject("table" -> JString(name), "partitions" -> partitions)))))).head

  private def remove(path: File): Unit =
    if (Disk.exists(path)) {
      val below = Disk.walk(path)
      try below.sorted(java.util.Comparator.reverseOrder[File]).forEach(each => Disk.delete(each))
      finally below.close()
    }
}
