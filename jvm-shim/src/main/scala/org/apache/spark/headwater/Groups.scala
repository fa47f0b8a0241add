package org.apache.spark.headwater

import org.apache.spark.{JobExecutionStatus, SparkContext}
import org.apache.spark.status.api.v1.{JobData, StageData}

/** How far the jobs of a group have come: tasks, those that are done, and what these read and wrote. */
case class Group(name: String, tasks: Int, done: Int, rowsRead: Long, bytesRead: Long, rowsWritten: Long, bytesWritten: Long)

object Groups {

  /** The groups that are `wanted` by their names and of which a job runs, with all jobs of theirs that Spark remembers. */
  def running(context: SparkContext, wanted: String => Boolean): Seq[Group] = {
    val jobs = context.statusStore.jobsList(null).filter(_.jobGroup.exists(wanted))
    jobs.groupBy(_.jobGroup.get).toSeq.sortBy(_._1).collect {
      case (name, all) if all.exists(_.status == JobExecutionStatus.RUNNING) => group(context, name, all)
    }
  }

  private def group(context: SparkContext, name: String, jobs: Iterable[JobData]): Group = {
    val stages = jobs.flatMap(_.stageIds).toSeq.distinct
      .flatMap(id => context.statusStore.asOption(context.statusStore.lastStageAttempt(id)))
    def sum(of: StageData => Long): Long = stages.map(of).sum
    Group(
      name, jobs.map(_.numTasks).sum, jobs.map(job => job.numCompletedTasks + job.numSkippedTasks).sum,
      sum(_.inputRecords), sum(_.inputBytes), sum(_.outputRecords), sum(_.outputBytes))
  }
}
