package io.headwater.spark

import org.apache.spark.sql.functions.{col, max, udf}
import org.apache.spark.sql.headwater.{Few, Gathered}
import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

/** Spark gives its settings to the tasks of what it calls an execution. The shim starts jobs that are none. */
class SettingsOfTasksSuite extends AnyFunSuite {
  for (adaptive <- Seq("true", "false"))
    test(s"all stages that bring rows to the driver have the settings of the session; adaptive: $adaptive") {
      val session = LocalSpark.session.newSession()
      session.conf.set(Told.Policy, "LEGACY")
      session.conf.set("spark.sql.adaptive.enabled", adaptive)
      val read = udf(Told.apply(_: Long)).asNondeterministic()
      val rows = session.range(0, 8, 1, 2).select(col("id"), read(col("id")).as("policy"))
      val first = rows.groupBy(col("id") % 2).agg(max("policy").as("policy")).select("policy")
      val found = Gathered.of(Seq(first), Few(rows = 10)).head.get
      assert(found.map(_.getUTF8String(0).toString) == Seq("LEGACY", "LEGACY"))
    }
}

/** A setting as a task is told it. */
private object Told extends (Long => String) with Serializable {
  val Policy = "spark.sql.legacy.timeParserPolicy"

  override def apply(row: Long): String = SQLConf.get.getConfString(Policy, "CORRECTED")
}
