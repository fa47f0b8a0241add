package org.apache.spark.headwater

import scala.util.Try

import org.apache.spark.{JobExecutionStatus, SparkContext}
import org.apache.spark.status.api.v1.{JobData, StageData, StageStatus}

/** How far the jobs of a group have come: tasks, those that are done, and what these read and wrote. */
case class Group(name: String, tasks: Int, done: Int, rowsRead: Long, bytesRead: Long, rowsWritten: Long, bytesWritten: Long)

/**
 * What the tasks of a group took of all slots: the ms that they would have taken with all to themselves, the ms in which
 * there were any of them, the part of all slots that they would have filled then, and the ms of all of them one after the
 * other.
 */
case class Effort(alone: Long, active: Long, share: Double, work: Long)

/** A stage that is over: its tasks, the ms of all of them one after the other, and when it began and ended. */
private[headwater] case class Ran(tasks: Int, work: Long, from: Long, to: Long)

object Groups {
  /** ms to wait for what Spark's own listeners are still to hear of. */
  private val Patience = 50L

  /** The groups that are `wanted` by their names and of which a job runs, with all jobs of theirs that Spark remembers. */
  def running(context: SparkContext, wanted: String => Boolean): Seq[Group] = {
    val jobs = context.statusStore.jobsList(null).filter(_.jobGroup.exists(wanted))
    jobs.groupBy(_.jobGroup.get).toSeq.sortBy(_._1).collect {
      case (name, all) if all.exists(_.status == JobExecutionStatus.RUNNING) => group(context, name, all)
    }
  }

  /** What a group took so far; none of a group that has no stages, or of which one is not over. */
  def effort(context: SparkContext, name: String): Option[Effort] = {
    val heard = Try(context.listenerBus.waitUntilEmpty(Patience)).isSuccess
    val ran = stages(context, context.statusStore.jobsList(null).filter(_.jobGroup.contains(name))).filter(_.status != StageStatus.SKIPPED)
    val ended = for (stage <- ran; from <- stage.submissionTime; to <- stage.completionTime)
      yield Ran(stage.numCompleteTasks, stage.executorRunTime, from.getTime, to.getTime)
    if (heard && ended.size == ran.size) effort(ended, context.defaultParallelism) else None
  }

  /** What stages took of so many slots; none where their tasks took no time. */
  private[headwater] def effort(ran: Seq[Ran], slots: Int): Option[Effort] = {
    val alone = ran.map(stage => stage.work.toDouble / stage.tasks.min(slots).max(1)).sum
    val work = ran.map(_.work).sum
    if (alone == 0) None
    else Some(Effort(alone.round, covered(ran.map(stage => stage.from -> stage.to)), (work / alone / slots).min(1), work))
  }

  /** The length of what intervals cover together. */
  private def covered(intervals: Seq[(Long, Long)]): Long =
    intervals.sorted.foldLeft((0L, Long.MinValue)) { case ((sum, end), (from, to)) =>
      (sum + (to - from.max(end)).max(0), end.max(to))
    }._1

  private def group(context: SparkContext, name: String, jobs: Iterable[JobData]): Group = {
    val all = stages(context, jobs)
    def sum(of: StageData => Long): Long = all.map(of).sum
    Group(
      name, jobs.map(_.numTasks).sum, jobs.map(job => job.numCompletedTasks + job.numSkippedTasks).sum,
      sum(_.inputRecords), sum(_.inputBytes), sum(_.outputRecords), sum(_.outputBytes))
  }

  private def stages(context: SparkContext, jobs: Iterable[JobData]): Seq[StageData] =
    jobs.flatMap(_.stageIds).toSeq.distinct
      .flatMap(id => context.statusStore.asOption(context.statusStore.lastStageAttempt(id)))
}
