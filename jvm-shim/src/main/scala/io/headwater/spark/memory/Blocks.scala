package io.headwater.spark

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.headwater.Contexts
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.headwater.Access
import org.apache.spark.storage.StorageLevel

/**
 * Rows that Spark's block manager holds for their readers, by the versions of the runs that made them.
 *
 * They are Spark's own columnar batches, but not entered with its cache manager, which would compute them anew, and from
 * other files, whenever one of their sources is written to.
 */
object Blocks {
  private val relations = new ConcurrentHashMap[Long, InMemoryRelation]

  /** Computes rows and holds them at a storage level, such as MEMORY_AND_DISK. */
  def hold(frame: DataFrame, version: Long, level: String): Unit = {
    val query = frame.queryExecution
    val relation = InMemoryRelation(StorageLevel.fromString(level), query, Some(s"headwater $version"))
    relations.put(version, relation)
    try SQLExecution.withNewExecutionId(query, Some("headwater")) {
      relation.cacheBuilder.cachedColumnBuffers.foreach(_ => ())
    } catch {
      case error: Throwable =>
        release(version)
        throw error
    }
  }

  /** The bytes of the batches that are made so far; 0 if there are none. */
  def size(version: Long): Long = Option(relations.get(version)).fold(0L)(_.cacheBuilder.sizeInBytesStats.value)

  /** What reads them. */
  def plan(version: Long): Option[LogicalPlan] = Option(relations.get(version)).map(_.newInstance())

  def frame(session: SparkSession, version: Long): DataFrame =
    Access.frame(session)(plan(version).getOrElse(
      throw new OverlayGone(s"Spark's memory does not hold the rows of version $version any more")))

  def release(version: Long): Unit = Option(relations.remove(version)).foreach(_.cacheBuilder.clearCache(true))

  /** Releases what an engine held that is gone. */
  def releaseAll(): Unit = relations.keySet.forEach(version => release(version))

  /** The bytes that the block managers of an application can hold in memory. */
  def room(session: SparkSession): Long = Contexts.memory(session.sparkContext)
}
