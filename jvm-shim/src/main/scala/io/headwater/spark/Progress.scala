package io.headwater.spark

import org.apache.spark.headwater.{Group, Groups}
import org.apache.spark.sql.SparkSession
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, render}

/** How far the refreshes of an application have come, and what they took. */
object Progress {
  /** A job group of a refresh. Programs may have groups of their own that begin alike. */
  private val Refresh = """headwater (.+) (\d{1,18})""".r

  /** @return a JSON list of {"view", "version", "tasks", "done", "rows_read", "bytes_read", "rows", "bytes", "copied", "size"} */
  def of(session: SparkSession): String = {
    val groups = Groups.running(session.sparkContext, Refresh.matches(_)).map(each => each.name -> each).toMap
    val copies = Copies.all
    compact(render(JArray((groups.keySet ++ copies.keySet).toList.sorted.collect { case name @ Refresh(view, version) =>
      val group = groups.getOrElse(name, Group(name, 0, 0, 0, 0, 0, 0))
      val copy = copies.get(name)
      JObject(
        "view" -> JString(view), "version" -> JLong(version.toLong),
        "tasks" -> JInt(group.tasks), "done" -> JInt(group.done),
        "rows_read" -> JLong(group.rowsRead), "bytes_read" -> JLong(group.bytesRead),
        "rows" -> JLong(group.rowsWritten), "bytes" -> JLong(group.bytesWritten),
        "copied" -> JLong(copy.fold(0L)(_.copied)), "size" -> JLong(copy.fold(0L)(_.size)))
    })))
  }

  /** @return what the tasks of a job group took so far: {"alone": µs, "active": µs, "share"}, or null where nobody knows */
  def effort(session: SparkSession, group: String): String =
    compact(render(Groups.effort(session.sparkContext, group).fold[JValue](JNull)(each =>
      JObject("alone" -> JLong(1000 * each.alone), "active" -> JLong(1000 * each.active), "share" -> JDouble(each.share)))))
}
