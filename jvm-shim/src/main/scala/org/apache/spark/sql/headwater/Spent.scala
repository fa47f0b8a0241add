package org.apache.spark.sql.headwater

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}

/** What a query read of a table's files: how many bytes they have, and µs of its own time that reading took. */
case class ReadOf(table: String, bytes: Long, micros: Long)

/** What went into moving bytes while a counted query was written, by Spark's own metrics. */
object Spent {

  /**
   * What was read of tables that lie in files. One that is read twice is there once, with the sum of both times and
   * the bytes of the larger one. Formats that Spark does not read in batches are missing, for it does not say how long
   * that took; so is a scan that did not run.
   */
  def reads(tally: Tally): Seq[ReadOf] = {
    val scans = tally.ran.toSeq.flatMap(below).collect {
      case scan: FileSourceScanExec if scan.tableIdentifier.nonEmpty && scan.metrics.get("scanTime").exists(_.value > 0) =>
        scan
    }
    scans.distinctBy(System.identityHashCode).groupBy(_.tableIdentifier.get.unquotedString).toSeq.map { case (table, all) =>
      val micros = all.map(scan => scan.metrics("scanTime").value * 1000 / atOnce(scan, scan.inputRDD.getNumPartitions))
      ReadOf(table.stripPrefix("spark_catalog."), all.map(_.metrics("filesSize").value).max, micros.sum)
    }
  }

  /** µs that tasks went on writing when they had all rows; the mean, for they run side by side. */
  def writing(tally: Tally): Long = tally.ran.fold(0L) { ran =>
    ran.longMetric(TalliedExec.After).value / 1000 / atOnce(ran, ran.execute().getNumPartitions)
  }

  /** Into how many the times of tasks divide. */
  private def atOnce(plan: SparkPlan, tasks: Int): Int = tasks.min(plan.session.sparkContext.defaultParallelism).max(1)

  /** A plan and all that is below it, stages that ran included. */
  private def below(plan: SparkPlan): Seq[SparkPlan] = plan +: (plan match {
    case adaptive: AdaptiveSparkPlanExec => below(adaptive.executedPlan)
    case stage: QueryStageExec => below(stage.plan)
    case other => (other.children ++ other.subqueries).flatMap(below)
  })
}
