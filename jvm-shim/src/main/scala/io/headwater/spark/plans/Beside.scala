package io.headwater.spark

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.catalyst.expressions.{CommonExpressionId, Expression, ExprId, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String
import org.json4s.JsonAST._

/** A part of an expression as JSON that is equal at each analysis. A part that is a child has its position. */
private[spark] object Beside {
  private val Simple = Set("java.lang.", "java.time.", "java.math.", "scala.math.", "scala.Enumeration", "scala.Symbol")

  def apply(numbering: Numbering, children: Seq[Expression], part: Any): JValue = {
    def of(value: Any): JValue = value match {
      case null | None => JNull
      case Some(each) => JArray(List(of(each)))
      case child: Expression if children.exists(_ eq child) => JObject("child" -> JInt(children.indexWhere(_ eq child)))
      case column: NamedExpression if column.resolved => JObject("attr" -> JInt(numbering.of(column)))
      case other: Expression => JObject("of" -> JString(other.getClass.getName), "parts" -> JArray(other.productIterator.map(of).toList))
      case id: CommonExpressionId => JInt(numbering.ofCommon(id))
      case _: LogicalPlan | _: ExprId => JNull // a subquery's plan is described; numbers of Spark change
      case kind: DataType => JString(kind.json)
      case text: String => JString(text)
      case text: UTF8String => JString(text.toString)
      case pairs: scala.collection.Map[_, _] => // no object of JSON: its names would be a user's words
        JArray(SortedMap.from(pairs.map { case (key, each) => key.toString -> of(each) }).toList.map { case (key, each) =>
          JArray(List(JString(key), each))
        })
      case several: scala.collection.Set[_] => JArray(several.toSeq.map(of).sortBy(_.toString).toList)
      case several: Iterable[_] => JArray(several.map(of).toList)
      case several: Array[_] => JArray(several.map(of).toList)
      case one: Class[_] => JString(one.getName)
      case one: Product => JObject("of" -> JString(one.getClass.getName), "parts" -> JArray(one.productIterator.map(of).toList))
      case one if Simple.exists(one.getClass.getName.startsWith) || one.getClass.isEnum => JString(one.toString)
      case one => JString(one.getClass.getName.replaceAll("\\$Lambda.*", "")) // its own text may have its address
    }
    of(part)
  }
}
