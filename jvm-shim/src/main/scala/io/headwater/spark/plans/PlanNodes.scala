package io.headwater.spark

import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.unsafe.types.CalendarInterval
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
      List("name" -> JString(Names.key(view.desc.identifier)), "temporary" -> JBool(view.isTempView))
    case local: LocalRelation =>
      val rows = local.data.map { row =>
        val cells = local.output.zipWithIndex.map { case (column, i) =>
          val value = row.get(i, column.dataType)
          JString(Try(Spelling.sql(Literal.create(value, column.dataType))).getOrElse(String.valueOf(value)))
        }
        JArray(cells.toList)
      }
      List("rows" -> JArray(rows.toList))
    case inline: ResolvedInlineTable => List("rows" -> JArray(inline.rows.map(expression.list).toList))
    case alias: SubqueryAlias => foreign(alias).map(each => "view" -> JString(each)).toList
    case loop: UnionLoop =>
      List("cte" -> JInt(numbering.ofCte(loop.id)), "max_depth" -> loop.maxDepth.fold[JValue](JNull)(JInt(_)))
    case ref: UnionLoopRef => List("cte" -> JInt(numbering.ofCte(ref.loopId)), "accumulated" -> JBool(ref.accumulated))
    case other => List("expressions" -> expression.list(other.expressions), "facts" -> plain(other))
  }

  private def joined(kind: JoinType, condition: Option[Expression]): List[JField] =
    List("type" -> JString(named(kind)), "condition" -> condition.fold[JValue](JNull)(expression(_)))

  private def named(kind: JoinType): String = kind match {
    case ExistenceJoin(_) => "EXISTENCE" // SQL has no word for it
    case other => other.sql
  }

  /** What an operator has beside children and expressions: flags, numbers, and facts of several parts. */
  private def plain(plan: LogicalPlan): JValue = JArray(plan.productIterator.collect {
    case flag: Boolean => JBool(flag)
    case number: Int => JInt(number)
    case number: Long => JInt(number)
    case number: Double => JDouble(number)
    case text: String => JString(text)
    case interval: CalendarInterval => JString(interval.toString)
    case several: Product if !several.isInstanceOf[TreeNode[_]] && !several.isInstanceOf[Iterable[_]] && !several.isInstanceOf[Option[_]] =>
      Beside(numbering, Nil, several)
  }.toList)

  /**
   * The view of another catalog whose text stands below an alias. Spark puts such a text into the query without a sign, but
   * under the whole name; that of a table stands right above its relation.
   */
  private def foreign(alias: SubqueryAlias): Option[String] = {
    def own(plan: LogicalPlan): Boolean = plan match {
      case Project(_, child) => own(child) // for columns of a type CHAR
      case Filter(_, child) => own(child) // for the path of a partition of a Delta table
      case _: View => true
      case other => isRelation(other)
    }
    val name = alias.identifier.qualifier :+ alias.identifier.name
    Option.when(name.size > 1 && !own(alias.child))(Names.key(name))
  }

  private def isRelation(plan: LogicalPlan): Boolean = plan match {
    case _: CTERelationRef | _: LocalRelation | _: ResolvedInlineTable | _: OneRowRelation | _: Range => false
    case other => other.children.isEmpty && !other.getClass.getSimpleName.startsWith("UnionLoop")
  }

  private def relationFacts(plan: LogicalPlan): List[JField] = {
    val identities = PlanSource.identities(plan)
    val columns = plan.output.map { column =>
      val rawType = CharVarcharUtils.getRawType(column.metadata).getOrElse(column.dataType)
      JObject(List(
        "id" -> JInt(numbering.of(column)),
        "name" -> JString(column.name),
        "type" -> JString(rawType.sql)) ++ identities.get(column.name).map("identity" -> JString(_)) ++
        Option.when(MetadataAttribute.isValid(column.metadata))("metadata" -> JBool(true)))
    }
    PlanSource.facts(plan) ++ List("columns" -> JArray(columns.toList))
  }
}
