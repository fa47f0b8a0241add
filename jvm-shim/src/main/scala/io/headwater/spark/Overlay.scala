package io.headwater.spark

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTablePartition}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.headwater.Access
import org.json4s._
import org.json4s.jackson.JsonMethods.parse

/**
 * Lets a refresh read what other refreshes of its run made before that is published, or from a copy
 * that is closer at hand.
 *
 * The engine says so in a local property of the thread that analyses the query, [[Overlay.Property]]:
 * `{"database.view": {"whole": bool, "without": [spec], "with": [{"spec", "location"}]}}`. A view's relation then
 * lists what is published, but for the partitions `without` (all, if `whole`), and those `with` others. If rows are `held`
 * in Spark's memory, by the version that made them, these come in place of the latter.
 */
case class Overlay(session: SparkSession) extends Rule[LogicalPlan] {
  import Overlay._

  override def apply(plan: LogicalPlan): LogicalPlan =
    Option(session.sparkContext.getLocalProperty(Property)).filter(_.nonEmpty) match {
      case None => plan
      case Some(json) =>
        val overlays = parse(json)
        Access.rewrite(plan) {
          case relation @ LogicalRelation(files: HadoopFsRelation, _, Some(view), false, _)
              if Views.is(view) && !files.location.isInstanceOf[OverlaidFiles] =>
            overlays \ view.identifier.unquotedString.stripPrefix("spark_catalog.") match {
              case overlay: JObject if overlay \ "held" != JNothing => held(relation, files, view, overlay)
              case overlay: JObject =>
                listed(relation, files, view, overlay)
              case _ => relation
            }
        }
    }

  private def listed(
      relation: LogicalRelation, files: HadoopFsRelation, view: CatalogTable, overlay: JObject): LogicalRelation =
    // What is published says nothing of how large this is.
    relation.copy(
      relation = files.copy(location = listing(view, overlay))(files.sparkSession),
      catalogTable = Some(view.copy(stats = None)))

  /** What is held, beside what stays of what is published. */
  private def held(
      relation: LogicalRelation, files: HadoopFsRelation, view: CatalogTable, overlay: JObject): LogicalPlan = {
    val version = integer(overlay \ "held").num
    val rows = Blocks.plan(version).getOrElse(throw new java.io.FileNotFoundException(
      s"FILE_NOT_EXIST: what was made of ${view.qualifiedName} is not held any more"))
    def as(column: Attribute, id: ExprId): NamedExpression =
      Alias(rows.output.find(_.name.equalsIgnoreCase(column.name)).get, column.name)(id)
    if (overlay \ "whole" == JBool(true)) Project(relation.output.map(column => as(column, column.exprId)), rows)
    else {
      val mine = Project(relation.output.map(column => as(column, NamedExpression.newExprId)), rows)
      Union(Seq(listed(relation, files, view, overlay), mine))
    }
  }

  /** @throws java.io.FileNotFoundException when not all is there of what the other run made */
  private def listing(view: CatalogTable, overlay: JObject): FileIndex = {
    val classic = Access.classic(session)
    val own = (overlay \ "with").asInstanceOf[JArray].arr.map { each =>
      val storage = CatalogStorageFormat.empty.copy(locationUri = Some(new Path((each \ "location").values.toString).toUri))
      CatalogTablePartition(spec(each \ "spec"), storage)
    }
    val files = if (view.partitionColumnNames.isEmpty)
      new OverlaidFiles(classic, own.map(partition => new Path(partition.location)), None)
    else {
      val gone = (overlay \ "without").asInstanceOf[JArray].arr.map(spec).toSet
      val published =
        if (overlay \ "whole" == JBool(true)) Nil
        else classic.sessionState.catalog.listPartitions(view.identifier).filterNot(each => gone.contains(each.spec))
      val zone = classic.sessionState.conf.sessionLocalTimeZone
      val partitions = (published ++ own).map { each =>
        PartitionPath(each.toRow(view.partitionSchema, zone), new Path(each.location))
      }
      new OverlaidFiles(classic, partitions.map(_.path), Some(PartitionSpec(view.partitionSchema, partitions)))
    }
    val places = own.map(partition => new Path(partition.location).toUri.getPath).toSet
    val found = files.allFiles().filter(file => below(places, file.getPath)).map(_.getLen).sum
    if (JLong(found) != integer(overlay \ "bytes"))
      throw new java.io.FileNotFoundException(s"FILE_NOT_EXIST: not all is there of what was made of ${view.qualifiedName}")
    files
  }

  private def below(places: Set[String], file: Path): Boolean =
    Iterator.iterate(file)(_.getParent).takeWhile(_ != null).exists(each => places.contains(each.toUri.getPath))

  private def integer(value: JValue): JLong = JLong(value.values.toString.toLong)

  private def spec(value: JValue): Map[String, String] =
    value.asInstanceOf[JObject].obj.map { case (column, each) => column -> each.values.toString }.toMap
}

object Overlay {
  val Property = "spark.headwater.overlay"
}

/** Files of a view that are not all where the catalog says. */
class OverlaidFiles(
    session: org.apache.spark.sql.classic.SparkSession, roots: Seq[Path], spec: Option[PartitionSpec])
    extends InMemoryFileIndex(session, roots, Map.empty, None, userSpecifiedPartitionSpec = spec)
