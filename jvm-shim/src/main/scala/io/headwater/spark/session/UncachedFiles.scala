package io.headwater.spark

import scala.util.DynamicVariable

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.headwater.Access

/**
 * Lets the engine's sessions read files, and not what a user cached of them.
 *
 * Example: a user caches `sales`, and another program writes a file there. What is cached has the rows of before, and the
 * settings of the user's session decided how the files were parsed. Spark takes a relation for a cached one if it is equal, and
 * the option of this rule makes it another one.
 */
case class UncachedFiles(session: SparkSession) extends Rule[LogicalPlan] {
  import UncachedFiles._

  override def apply(plan: LogicalPlan): LogicalPlan = if (!Internal.is(session) || asUsers.value) plan
  else Access.rewrite(plan) { case relation @ LogicalRelation(files: HadoopFsRelation, _, _, _, _) =>
    relation.copy(relation = files.copy(options = files.options + Marked)(files.sparkSession))
  }
}

object UncachedFiles {
  private val asUsers = new DynamicVariable(false)

  /** Analyses what a body asks for as sessions of users do. So it finds what these cached, to renew it. */
  private[spark] def asUsersDo[A](body: => A): A = asUsers.withValue(true)(body)

  private val Marked = "headwater.cached" -> "never"
}
