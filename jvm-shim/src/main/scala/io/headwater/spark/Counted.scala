package io.headwater.spark

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.headwater.{Spent, Tallied}
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, render}

/** A query's rows, counted by partition (and hashed, if asked for) in the pass in which they are written. */
class Counted(frame: DataFrame, columns: java.util.List[String], hashed: Boolean) {
  private val names = columns.asScala.toList
  private val (rows, tally) = Tallied.of(frame, names, hashed)

  def counted: DataFrame = rows

  /** A JSON list of {"values": {column: value or null}, "rows", "content"}, of what was written. */
  def sums: String = compact(render(JArray(tally.value.toList.map { case (values, sum) =>
    JObject(
      "values" -> JObject(names.zip(values).map { case (name, value) => name -> Option(value).fold[JValue](JNull)(JString(_)) }),
      "rows" -> JLong(sum.rows),
      "content" -> JString(if (hashed) sum.hex else ""))
  })))

  /**
   * How long moving bytes took, when that was written: {"reads": [{"table", "place", "bytes", "micros", "needs",
   * "share"}], "writing": µs}. Files of no table have a `place`. What a query `needs` of a table is as in [[Scans]], or null.
   */
  def spent: String = compact(render(JObject(
    "reads" -> JArray(Spent.reads(tally).toList.map(each => JObject(
      "table" -> each.table.fold[JValue](JNull)(JString(_)), "place" -> JString(each.place), "bytes" -> JLong(each.bytes), "micros" -> JLong(each.micros),
      "needs" -> each.needs.fold[JValue](JNull)(Scans.told), "share" -> JDouble(each.share)))),
    "writing" -> JLong(Spent.writing(tally)))))
}
