package io.headwater.spark

import java.util.UUID

import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.headwater.{Access, Few, Gathered}

/**
 * Totals of some buckets in the memory of the driver, which writes their files itself. Spark needs longer to plan, start and
 * commit a job that writes than the driver needs to write some thousand rows.
 *
 * @param bucket tells the bucket of a row
 */
final class NearTotals private (session: SparkSession, output: Seq[Attribute], bucket: Expression, rows: Seq[UnsafeRow]) {

  /**
   * The totals; no job reads them, and one task goes on with them. They are no local relation: of one, Spark evaluates
   * conditions in the driver, with whatever functions they call, and it spreads its rows over all cores.
   */
  def frame: DataFrame = Gathered.oneTask(session, DataTypeUtils.fromAttributes(output), rows)

  /**
   * Writes a file for each bucket that has a group, as Spark writes Parquet in this session.
   * @return the same as `TotalsFiles.listed`
   */
  def write(root: String): String = Access.classic(session).withActive {
    val job = Job.getInstance(Access.classic(session).sessionState.newHadoopConf())
    val columns = DataTypeUtils.fromAttributes(output)
    val writers = new ParquetFileFormat().prepareWrite(session, job, Map.empty, columns)
    val attempt = new TaskAttemptContextImpl(job.getConfiguration, new TaskAttemptID("headwater", 0, TaskType.REDUCE, 0, 0))
    Wire.encode(rows.groupBy(bucket.eval(_).asInstanceOf[Int]).map { case (n, own) =>
      val name = s"part-00000-${UUID.randomUUID()}${writers.getFileExtension(attempt)}"
      val file = new Path(new Path(root, s"bucket=$n"), name)
      val writer = writers.newInstance(file.toString, columns, attempt)
      try own.foreach(writer.write) finally writer.close()
      s"bucket=$n" -> Map(name -> file.getFileSystem(job.getConfiguration).getFileStatus(file).getLen)
    })
  }
}

private[spark] object NearTotals {
  /** A megabyte of Parquet may hold a hundred thousand narrow rows. */
  private val Most = Few(rows = 200000, bytes = 8L << 20)

  /**
   * The totals, if they are few, by one job.
   * @param bucket tells the bucket of a row with some columns
   */
  def of(totals: DataFrame, bucket: Seq[Attribute] => Expression): Option[NearTotals] = {
    val output = totals.queryExecution.analyzed.output.map(_.withNullability(true))
    Gathered.of(Seq(totals), Most).head.map(
      new NearTotals(totals.sparkSession, output, BindReferences.bindReference(bucket(output), output), _))
  }
}
