package io.headwater.spark

import org.apache.spark.sql.{headwater, SparkSession}
import org.apache.spark.sql.headwater.Access

/** The bytes that a query makes and reads. */
final case class Estimate(size: Long, read: Long)

/** What Spark's statistics foresee of queries. */
object Sizes {

  /**
   * What a query makes and reads, by Spark's plan of it; it does not run.
   *
   * @param known a JSON object from tables, of which files do not tell how large they will be, to their bytes
   * @return [[Estimate]] as JSON, or null where nobody can say
   */
  def estimate(session: SparkSession, sql: String, known: String): String = {
    val classic = Access.classic(session)
    classic.withActive {
      val plan = classic.sessionState.executePlan(classic.sessionState.sqlParser.parsePlan(sql)).optimizedPlan
      val found = headwater.Sizes.of(plan, Wire.decode[Map[String, Long]](known))
      val finite = Seq(found.size, found.read).forall(_ < Most)
      Wire.encode(if (finite) Estimate(found.size.ceil.toLong, found.read.ceil.toLong) else null)
    }
  }

  /** More bytes than this are infinite, or as good as. */
  private val Most = 1L << 60
}
