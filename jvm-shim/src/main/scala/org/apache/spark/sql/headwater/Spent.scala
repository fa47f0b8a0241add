package org.apache.spark.sql.headwater

import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, SparkPlan}

/**
 * What a query read of a table's files: how many bytes they have, µs of its own time that reading took, what it `needs` of
 * them, and the part of the bytes that this should be. Files that are no table's lie in the directory `place`.
 */
case class ReadOf(table: Option[String], place: String, bytes: Long, micros: Long, needs: Option[Needs], share: Double)

/** What went into moving bytes while a counted query was written, by Spark's own metrics. */
object Spent {

  /**
   * What was read of tables that lie in files. One that is read twice is there once, with the sum of both times and
   * the bytes of the larger one. Formats that Spark does not read in batches are missing, for it does not say how long
   * that took; so is a scan that did not run.
   */
  def reads(tally: Tally): Seq[ReadOf] = {
    val nodes = tally.ran.toSeq.flatMap(Needs.below)
    val scans = nodes.collect {
      case scan: FileSourceScanExec if scan.metrics.get("scanTime").exists(_.value > 0) => scan
    }
    val passed = nodes.collect { case filter: FilterExec => Needs.scanned(filter) -> filter }
    scans.distinctBy(System.identityHashCode).groupBy(scan => (Needs.table(scan), Needs.place(scan))).toSeq.map { case ((table, place), all) =>
      val micros = all.map(scan => scan.metrics("scanTime").value * 1000 / atOnce(scan, scan.inputRDD.getNumPartitions))
      val shares = all.map { scan =>
        val rows = scan.metrics("numOutputRows").value
        val kept = passed.collectFirst {
          case (Some(below), filter) if (below eq scan) && Needs.tells(filter, scan) => filter.metrics("numOutputRows").value
        }.getOrElse(rows)
        val columns = scan.output.size.toDouble / scan.relation.schema.size.max(1)
        columns * (if (rows > 0) kept.toDouble / rows else 1.0)
      }
      ReadOf(table, place, all.map(_.metrics("filesSize").value).max, micros.sum, Needs.of(all), shares.sum.min(1))
    }
  }

  /** µs that tasks went on writing when they had all rows; the mean, for they run side by side. */
  def writing(tally: Tally): Long = tally.ran.fold(0L) { ran =>
    ran.longMetric(TalliedExec.After).value / 1000 / atOnce(ran, ran.execute().getNumPartitions)
  }

  /** Into how many the times of tasks divide. */
  private def atOnce(plan: SparkPlan, tasks: Int): Int = tasks.min(plan.session.sparkContext.defaultParallelism).max(1)
}
