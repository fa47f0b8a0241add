package io.headwater.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.analysis.{SQLFunctionNode, SQLScalarFunction}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, SQLFunction}
import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression, UserDefinedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, View}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, render}

/**
 * The ordinary views and functions of an analysed query, as this analysis found them, and the columns of paths. Somebody may
 * redefine one while a refresh runs and put it back, and Spark takes the types at a path from its files: the catalog tells
 * nothing of that, but the analysed query does.
 */
object Meant {
  def of(frame: DataFrame): String = of(frame.queryExecution.analyzed)

  def of(plan: LogicalPlan): String = {
    val found = plan.collectWithSubqueries { case node =>
      val itself = node match {
        case view: View => Seq(text(view.desc))
        case call: SQLFunctionNode => Seq(text(call.function))
        case LogicalRelation(files: HadoopFsRelation, _, None, _, _) =>
          Seq(texts(files.location.rootPaths.map(_.toString) :+ files.schema.json))
        case _ => Nil
      }
      itself ++ node.expressions.flatMap(_.collect(Function.unlift(called)))
    }
    compact(render(JArray(found.flatten.distinct.sorted.map(JString(_)).toList)))
  }

  private def called(expression: Expression): Option[String] = expression match {
    case call: SQLScalarFunction => Some(text(call.function))
    case call: UserDefinedExpression =>
      val parts = expression.productIterator.filterNot { part => part == expression.children || expression.children.contains(part) }
      Some(texts(Seq(call.name, expression.getClass.getName) ++
        parts.map(part => compact(render(Beside(new Numbering, expression.children, part))))))
    case _ => None
  }

  /** Which view it is. The database and the settings of the session that made it say how its text is read. */
  def digest(view: CatalogTable): String = Reading.digest(Seq(text(view)))

  private def text(view: CatalogTable): String = texts(
    Seq(view.identifier.unquotedString) ++ view.viewText ++ view.schema.fieldNames ++ view.viewCatalogAndNamespace ++
      view.viewSQLConfigs.toSeq.sorted.flatMap { case (key, value) => Seq(key, value) })

  private def text(function: SQLFunction): String = texts(
    Seq(function.name.unquotedString, function.returnType.toString) ++ function.inputParam.map(_.json) ++ function.exprText ++
      function.queryText ++ function.properties.toSeq.sorted.flatMap { case (key, value) => Seq(key, value) })

  private def texts(parts: Seq[String]): String = compact(render(JArray(parts.map(JString(_)).toList)))
}

/** Subqueries that name columns of the query around them, as in `SELECT (SELECT max(y) FROM u WHERE u.x = t.x) FROM t`. */
object Correlated {
  def is(frame: DataFrame): Boolean =
    frame.queryExecution.analyzed.exists(_.expressions.exists(SubqueryExpression.hasCorrelatedSubquery))
}
