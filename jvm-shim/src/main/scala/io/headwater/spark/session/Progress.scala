package io.headwater.spark

import org.apache.spark.headwater.{Group, Groups}
import org.apache.spark.sql.SparkSession

/** How far a refresh has come: tasks of its jobs so far, what those read and wrote, and bytes of its copy. */
final case class RefreshProgress(
    view: String, version: Long, tasks: Int, done: Int, rows_read: Long, bytes_read: Long, rows: Long, bytes: Long,
    copied: Long, size: Long)

/**
 * What tasks took: µs with all slots to themselves, µs in which there were any, the part of the slots that they fill, and
 * µs of all of them one after the other.
 */
final case class Effort(alone: Long, active: Long, share: Double, work: Long)

/** How far the refreshes of an application have come, and what they took. */
object Progress {
  /** A job group of a refresh. Programs may have groups of their own that begin alike. */
  private val Refresh = """headwater (.+) (\d{1,18})""".r

  /** @return a JSON list of [[RefreshProgress]] */
  def of(session: SparkSession): String = {
    val groups = Groups.running(session.sparkContext, Refresh.matches(_)).map(each => each.name -> each).toMap
    val copies = Copies.all
    Wire.encode((groups.keySet ++ copies.keySet).toList.sorted.collect { case name @ Refresh(view, version) =>
      val group = groups.getOrElse(name, Group(name, 0, 0, 0, 0, 0, 0))
      val copy = copies.get(name)
      RefreshProgress(
        view, version.toLong, group.tasks, group.done, group.rowsRead, group.bytesRead, group.rowsWritten, group.bytesWritten,
        copy.fold(0L)(_.copied), copy.fold(0L)(_.size))
    })
  }

  /** @return what the tasks of a job group took so far, [[Effort]] as JSON, or null where nobody knows */
  def effort(session: SparkSession, group: String): String =
    Wire.encode(Groups.effort(session.sparkContext, group).map(each => Effort(1000 * each.alone, 1000 * each.active, each.share, 1000 * each.work)).orNull)
}
