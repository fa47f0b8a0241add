package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan, ParsedStatement}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.CommandExecutionMode
import org.apache.spark.sql.headwater.Access
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, render}

/** A query's analysed plan as JSON: what it reads, what it computes, nothing that changes between analyses.
  *
  * The query is analysed in the session and never run. Attribute and CTE numbers are renumbered in order of
  * first appearance, so one query over unchanged schemas always gives the same text; its digest identifies the
  * definition. What follows from these facts is decided in Python (`headwater.algebra.derive`), where the
  * shape of the JSON is documented (`derive/query.py`).
  */
object PlanJson {

  /**
   * The description of a query, the views and functions that the same analysis found, and what its lowest aggregate takes, or all
   * of a query without one, with joins in place of subqueries ([[JoinedSubqueries]]); empty if that is nothing else.
   */
  def analysed(session: SparkSession, sql: String): java.util.List[String] = {
    val classicSession = session.asInstanceOf[classic.SparkSession]
    classicSession.withActive {
      val state = classicSession.sessionState
      val (analyzed, gone) = ParsedAway.during {
        val parsed = state.sqlParser.parsePlan(sql)
        if (parsed.isInstanceOf[Command] || parsed.isInstanceOf[ParsedStatement])
          throw new IllegalArgumentException(s"not a query: $sql")
        val execution = state.executePlan(parsed, CommandExecutionMode.SKIP)
        execution.assertAnalyzed()
        execution.analyzed
      }
      val reparse = new Reparse(state.sqlParser, state.analyzer)
      val facts = described(analyzed, reparse)
      val plan = compact(render(JObject(facts ++ List(
        "functions" -> Functions.called(session, analyzed), "clock" -> texts(gone.clock), "patterns" -> texts(gone.patterns),
        "options" -> texts(gone.options)))))
      val joined = Totals.withJoins(analyzed).fold("")(each => compact(render(JObject(described(each, reparse)))))
      java.util.List.of(plan, Meant.of(analyzed), joined)
    }
  }

  private def texts(found: Seq[String]): JValue = JArray(found.map(JString(_)).toList)

  private def described(analyzed: LogicalPlan, reparse: Reparse): List[JField] = {
    val numbering = new Numbering
    val plan = new PlanNodes(numbering, reparse).node(analyzed)
    val columns = analyzed.output.map { column =>
      val rawType = CharVarcharUtils.getRawType(column.metadata).getOrElse(column.dataType)
      JObject(
        "id" -> JInt(numbering.of(column)),
        "name" -> JString(column.name),
        "type" -> JString(Access.stored(rawType).sql),
        "nullable" -> JBool(column.nullable),
        "comment" -> (if (column.metadata.contains("comment")) JString(column.metadata.getString("comment")) else JNull))
    }
    List("columns" -> JArray(columns.toList), "attributes" -> numbering.attributes, "plan" -> plan)
  }
}
