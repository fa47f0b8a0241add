package io.headwater.spark

import scala.util.Try

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.util.{quoteIfNeeded, CharVarcharUtils}
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation
import org.json4s.JsonAST._

/** Plan nodes as JSON: operator, output, children, and the facts of each operator. */
private[spark] final class PlanNodes(numbering: Numbering, reparse: Reparse) {
  private val expression = new PlanExpressions(numbering, reparse, node)

  def node(plan: LogicalPlan): JValue = {
    val (children, facts) = parts(plan)
    val nodes = children.map(node).toList
    val written = facts()
    val ids = plan.output.map(column => JInt(numbering.of(column))).toList
    val op = if (isRelation(plan)) "Relation" else plan.getClass.getSimpleName
    JObject(("op" -> JString(op)) :: ("output" -> JArray(ids)) :: ("children" -> JArray(nodes)) :: written: _*)
  }

  /** Children are written first, so that numbers follow the rows from the sources up. */
  private def parts(plan: LogicalPlan): (Seq[LogicalPlan], () => List[JField]) = plan match {
    case With(plan, definitions) => (Seq(plan), () => List("definitions" -> JArray(definitions)))
    case join: LateralJoin =>
      (Seq(join.left, join.right.plan), () => joined(join.joinType, join.condition))
    case other => (other.children, () => facts(other))
  }

  /** A `WithCTE`, with its definitions written before what refers to them. */
  private object With {
    def unapply(plan: LogicalPlan): Option[(LogicalPlan, List[JValue])] = plan match {
      case WithCTE(inner, definitions) =>
        Some(inner -> definitions.toList.map { each =>
          JObject("cte" -> JInt(numbering.ofCte(each.id)), "plan" -> node(each.child))
        })
      case _ => None
    }
  }

  private def facts(plan: LogicalPlan): List[JField] = plan match {
    case relation if isRelation(relation) => relationFacts(relation)
    case Project(projections, _) => List("projections" -> expression.list(projections))
    case Filter(condition, _) => List("condition" -> expression(condition))
    case aggregate: Aggregate =>
      List(
        "groupings" -> expression.list(aggregate.groupingExpressions),
        "projections" -> expression.list(aggregate.aggregateExpressions))
    case window: Window =>
      List(
        "partition_by" -> expression.list(window.partitionSpec),
        "order_by" -> expression.list(window.orderSpec),
        "windows" -> expression.list(window.windowExpressions))
    case join: Join => joined(join.joinType, join.condition)
    case expand: Expand =>
      List("projections" -> JArray(expand.projections.map(expression.list).toList))
    case ref: CTERelationRef =>
      List("cte" -> JInt(numbering.ofCte(ref.cteId)), "recursive" -> JBool(ref.recursive))
    case view: View =>
      List("name" -> JString(tableName(view.desc.identifier)), "temporary" -> JBool(view.isTempView))
    case local: LocalRelation =>
      val rows = local.data.map { row =>
        val cells = local.output.zipWithIndex.map { case (column, i) =>
          val value = row.get(i, column.dataType)
          JString(Try(Literal.create(value, column.dataType).sql).getOrElse(String.valueOf(value)))
        }
        JArray(cells.toList)
      }
      List("rows" -> JArray(rows.toList))
    case inline: ResolvedInlineTable => List("rows" -> JArray(inline.rows.map(expression.list).toList))
    case _: SubqueryAlias => Nil
    case loop: UnionLoop =>
      List("cte" -> JInt(numbering.ofCte(loop.id)), "max_depth" -> loop.maxDepth.fold[JValue](JNull)(JInt(_)))
    case ref: UnionLoopRef => List("cte" -> JInt(numbering.ofCte(ref.loopId)), "accumulated" -> JBool(ref.accumulated))
    case other => List("expressions" -> expression.list(other.expressions), "facts" -> plain(other))
  }

  private def joined(kind: JoinType, condition: Option[Expression]): List[JField] =
    List("type" -> JString(kind.sql), "condition" -> condition.fold[JValue](JNull)(expression(_)))

  /** What an operator has beside children and expressions: flags and numbers. */
  private def plain(plan: LogicalPlan): JValue = JArray(plan.productIterator.collect {
    case flag: Boolean => JBool(flag)
    case number: Int => JInt(number)
    case number: Long => JInt(number)
    case number: Double => JDouble(number)
    case text: String => JString(text)
  }.toList)

  private def isRelation(plan: LogicalPlan): Boolean = plan match {
    case _: CTERelationRef | _: LocalRelation | _: ResolvedInlineTable | _: OneRowRelation | _: Range => false
    case other => other.children.isEmpty && !other.getClass.getSimpleName.startsWith("UnionLoop")
  }

  private def relationFacts(plan: LogicalPlan): List[JField] = {
    val columns = plan.output.map { column =>
      val rawType = CharVarcharUtils.getRawType(column.metadata).getOrElse(column.dataType)
      JObject(
        "id" -> JInt(numbering.of(column)),
        "name" -> JString(column.name),
        "type" -> JString(rawType.sql))
    }
    source(plan) ++ List("columns" -> JArray(columns.toList))
  }

  private def source(plan: LogicalPlan): List[JField] = plan match {
    case relation: LogicalRelation if relation.isStreaming =>
      table(relation.catalogTable.map(_.identifier)) ++ kind("stream", "file", Nil)
    case LogicalRelation(files: HadoopFsRelation, _, catalogTable, _, _) =>
      val place = catalogTable.fold(paths(files))(each => table(Some(each.identifier)))
      place ++ FileFormats.listed(files, catalogTable).fold(
        other => kind("other", other, Nil), format => kind("file", format, partitioning(files, catalogTable)))
    case relation: LogicalRelation =>
      table(relation.catalogTable.map(_.identifier)) ++
        kind("other", relation.catalogTable.flatMap(_.provider).getOrElse(simple(relation.relation)), Nil)
    case relation: HiveTableRelation =>
      table(Some(relation.tableMeta.identifier)) ++ kind(
        if (FileFormats.isListed(relation.tableMeta)) "hive" else "other",
        relation.tableMeta.provider.getOrElse("hive"), relation.partitionCols.map(_.name))
    case relation: DataSourceV2Relation =>
      val identity = Try(relation.table.partitioning.toSeq).getOrElse(Nil)
        .filter(_.name == "identity").flatMap(_.references.map(_.fieldNames.mkString(".")))
      versioned(relation.catalog, relation.identifier, relation.table.name) ++
        relation.timeTravelSpec.map(spec => "time_travel" -> JString(spec.toString)) ++
        kind("v2", relation.table.properties.getOrDefault("provider", simple(relation.table)), identity)
    case relation: StreamingRelationV2 =>
      versioned(relation.catalog, relation.identifier, relation.sourceName) ++
        kind("stream", relation.sourceName, Nil)
    case relation: StreamingRelation =>
      table(relation.dataSource.catalogTable.map(_.identifier)) ++ kind("stream", relation.sourceName, Nil)
    case other if other.isStreaming => kind("stream", simple(other), Nil)
    case other => kind("other", simple(other), Nil)
  }

  private def kind(kind: String, format: String, partitionColumns: Seq[String]): List[JField] = List(
    "kind" -> JString(kind),
    "format" -> JString(format.toLowerCase(java.util.Locale.ROOT)),
    "partition_columns" -> JArray(partitionColumns.map(JString(_)).toList))

  private def paths(files: HadoopFsRelation): List[JField] = List(
    "path" -> JString(files.location.rootPaths.mkString(", ")), "paths" -> JInt(files.location.rootPaths.size))

  /** The table's own: a stream that wrote nothing yet has no directories that would tell. */
  private def partitioning(files: HadoopFsRelation, table: Option[CatalogTable]): Seq[String] =
    table.fold(files.partitionSchema.map(_.name))(_.partitionColumnNames)

  private def table(identifier: Option[TableIdentifier]): List[JField] =
    identifier.map(each => "table" -> JString(tableName(each))).toList

  private def tableName(identifier: TableIdentifier): String =
    identifier.nameParts.map(quoteIfNeeded).mkString(".")

  private def versioned(
      catalog: Option[CatalogPlugin], identifier: Option[Identifier], name: String): List[JField] = {
    val parts = for (each <- catalog; id <- identifier) yield (each.name +: id.namespace :+ id.name).toSeq
    List("table" -> JString(parts.fold(name)(_.map(quoteIfNeeded).mkString("."))))
  }

  private def simple(value: AnyRef): String = FileFormats.simple(value)
}
