package io.headwater.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.plans.logical.{CreateMaterializedViewAsSelect, LogicalPlan, TableSpec, View}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.headwater.{Access, HeadwaterException}

/**
 * Takes over `CREATE MATERIALIZED VIEW`, which Spark resolves and then refuses to plan.
 *
 * A rule after resolution, not a planner strategy, so that the statement can return a row. What is
 * wrong with the query is reported here by Spark's own checks, with its positions.
 */
case class TakeOverCreate(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case create: CreateMaterializedViewAsSelect if create.childrenResolved =>
      Access.classic(session).sessionState.analyzer.checkAnalysis(create.query)
      AskedStatement(TakeOverCreate.message(session, create))
    case _ => plan
  }
}

object TakeOverCreate {

  private[spark] def message(session: SparkSession, create: CreateMaterializedViewAsSelect): CreateQuestion = {
    val name = create.name match {
      case ResolvedIdentifier(catalog, identifier) => catalog.name +: identifier.namespace :+ identifier.name
      case other => throw new IllegalStateException(s"the view's name was not resolved: $other")
    }
    val spec = create.tableSpec.asInstanceOf[TableSpec]
    val refused = unkept(create, spec)
    if (refused.nonEmpty) throw new HeadwaterException(
      s"${Names.key(name.toSeq)} cannot have ${refused.mkString(", ")}: a view has the rows of its query; " +
        "leave that out, and state it in the query if it matters")
    CreateQuestion(
      name = name.toSeq,
      columns = create.columns.map(column => ColumnDef(column.name, Access.stored(column.dataType).sql, column.comment)),
      partitioning = create.partitioning.map {
        case transform if transform.name == "identity" => transform.references.head.fieldNames.mkString(".")
        case other => other.describe
      },
      format = spec.provider,
      comment = spec.comment,
      properties = spec.properties,
      query = create.originalText,
      if_not_exists = create.ifNotExists,
      or_replace = create.getTagValue(StatementParser.OrReplace).isDefined,
      explained = create.getTagValue(StatementParser.Explained).isDefined,
      temporary = create.query.collectWithSubqueries { case view: View if view.isTempView => view.desc.identifier.table },
      temporary_functions = Functions.temporary(session, create.query))
  }

  /** The clauses by name that no view keeps and that Spark's parser takes. It refuses others, such as `LOCATION`. */
  private def unkept(create: CreateMaterializedViewAsSelect, spec: TableSpec): Seq[String] = {
    val ofColumns = create.columns.flatMap { column =>
      val clauses = Seq(
        Option.when(!column.nullable)("NOT NULL"),
        column.defaultValue.map(_ => "DEFAULT"),
        column.generationExpression.map(_ => "GENERATED ALWAYS AS"),
        column.identityColumnSpec.map(_ => "AS IDENTITY"))
      clauses.flatten.map(clause => s"$clause of the column ${column.name}")
    }
    ofColumns ++ spec.collation.map(collation => s"DEFAULT COLLATION $collation")
  }
}
