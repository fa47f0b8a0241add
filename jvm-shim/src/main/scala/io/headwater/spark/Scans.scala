package io.headwater.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.headwater.Needs
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, render}

/** What queries need of tables, so that one scan can be made for several of them. */
object Scans {

  /**
   * What a query needs of the tables that it reads, as far as that is known.
   *
   * @return a JSON object from a table's name to {"columns": [name], "rows": [[condition]]}
   */
  def needs(frame: DataFrame): String =
    compact(render(JObject(Needs.of(frame).toList.sortBy(_._1).map { case (table, needs) => table -> told(needs) })))

  def told(needs: Needs): JValue = JObject(
    "columns" -> JArray(needs.columns.toList.sorted.map(JString(_))),
    "rows" -> JArray(needs.rows.toList.map(_.toList.sorted).sortBy(_.mkString).map(each => JArray(each.map(JString(_))))))
}
