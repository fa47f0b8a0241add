package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{SQLFunctionNode, SQLScalarFunction}
import org.apache.spark.sql.catalyst.catalog.{CatalogFunction, SessionCatalog}
import org.apache.spark.sql.catalyst.expressions.{ApplyFunctionExpression, Expression, UserDefinedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.V2Aggregator
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.headwater.Access
import org.json4s._

/** Functions of the catalog, which a query means by name: somebody may give the name to another function. */
object Functions {

  /** A function's state, in the shape of a table's. */
  def look(session: SparkSession, key: String, function: FunctionIdentifier): Looked =
    find(session, function).fold[Looked](Missing(key)) { found =>
      Fact(key, kind = "function", created = 1, schema = meaning(found))
    }

  /** The functions of the catalog that an analysed query calls, each with its definition. */
  def called(session: SparkSession, plan: LogicalPlan): JObject =
    JObject(named(plan).distinct.flatMap(find(session, _)).sortBy(_.identifier.unquotedString).map { found =>
      Names.function(found.identifier.copy(catalog = None)) -> JString(meaning(found))
    }.toList)

  /** Lets a session call a function as the catalog has it now: a session keeps those that it called. */
  def renew(session: SparkSession, function: FunctionIdentifier): Unit = {
    val catalog = Access.classic(session).sessionState.catalog
    if (catalog.isRegisteredFunction(function)) catalog.unregisterFunction(function)
  }

  private def find(session: SparkSession, function: FunctionIdentifier): Option[CatalogFunction] = {
    val catalog = Access.classic(session).sharedState.externalCatalog
    function.database.filter(catalog.functionExists(_, function.funcName)).map(catalog.getFunction(_, function.funcName))
  }

  /** The text of a SQL function lies in the resources, too. */
  private def meaning(function: CatalogFunction): String =
    (function.className +: function.resources.map(each => s"${each.resourceType.resourceType} ${each.uri}")).mkString("\n")

  /**
   * The temporary functions that an analysed query calls. One may have the name of a function that all sessions know. Those that
   * an extension registers in each session are none.
   */
  def temporary(session: SparkSession, plan: LogicalPlan): Seq[String] = {
    lazy val everywhere = {
      val other = Access.classic(session).newSession().sessionState
      other.analyzer // some extensions register with it
      other.catalog
    }
    def meaning(catalog: SessionCatalog, function: FunctionIdentifier) = catalog.lookupFunctionInfo(function).getClassName
    all(plan).filter(_.database.isEmpty).distinct.filterNot { function =>
      everywhere.isTemporaryFunction(function) &&
        meaning(everywhere, function) == meaning(Access.classic(session).sessionState.catalog, function)
    }.map(_.funcName)
  }

  private def named(plan: LogicalPlan): Seq[FunctionIdentifier] = all(plan).filter(_.database.nonEmpty)

  private def all(plan: LogicalPlan): Seq[FunctionIdentifier] =
    plan.collectWithSubqueries { case node =>
      val itself = node match {
        case call: SQLFunctionNode => Seq(call.function.name)
        case _ => Nil
      }
      itself ++ node.expressions.flatMap(_.collect(Function.unlift(called)))
    }.flatten

  private def called(expression: Expression): Option[FunctionIdentifier] = expression match {
    case call: SQLScalarFunction => Some(call.function.name)
    case _: ApplyFunctionExpression | _: V2Aggregator[_, _] => None // of another catalog than the session's
    case call: UserDefinedExpression => identified(call.name)
    case _ => None
  }

  /** A temporary function has one part. Names in the session catalog have no dots. */
  private def identified(name: String): Option[FunctionIdentifier] = name.split('.').toSeq match {
    case Seq(function) => Some(FunctionIdentifier(function))
    case Seq(database, function) => Some(FunctionIdentifier(function, Some(database)))
    case Seq(catalog, database, function) if Names.isSession(catalog) => Some(FunctionIdentifier(function, Some(database)))
    case _ => None
  }
}
