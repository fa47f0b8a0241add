package io.headwater.spark

import org.apache.spark.sql.{headwater, SparkSession}
import org.apache.spark.sql.headwater.Access
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/** What Spark's statistics foresee of queries. */
object Sizes {

  /**
   * What a query makes and reads, by Spark's plan of it; it does not run.
   *
   * @param known a JSON object from tables, of which files do not tell how large they will be, to their bytes
   * @return {"size": bytes, "read": bytes}, or null where nobody can say
   */
  def estimate(session: SparkSession, sql: String, known: String): String = {
    val classic = Access.classic(session)
    classic.withActive {
      val plan = classic.sessionState.executePlan(classic.sessionState.sqlParser.parsePlan(sql)).optimizedPlan
      val told = parse(known).asInstanceOf[JObject].obj.collect { case (table, JInt(bytes)) => table -> bytes.toLong }.toMap
      val found = headwater.Sizes.of(plan, told)
      compact(render(if (Seq(found.size, found.read).forall(_ < Most)) JObject(
        "size" -> JInt(found.size.ceil.toLong), "read" -> JInt(found.read.ceil.toLong)) else JNull))
    }
  }

  /** More bytes than this are infinite, or as good as. */
  private val Most = 1L << 60
}
