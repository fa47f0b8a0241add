package io.headwater.spark

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTablePartition}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, CreateMap, Expression, ExprId, Literal, NamedExpression, RaiseError}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.headwater.Access
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/** Files of one partition. */
final case class OverlaidPartition(spec: Map[String, String], location: String)

/** What a query reads in place of a table's published files; see [[Overlay]]. */
final case class Overlaid(
    whole: Boolean,
    without: Seq[Map[String, String]],
    `with`: Seq[OverlaidPartition],
    bytes: Long,
    held: Option[Long] = None,
    scan: Option[String] = None,
    columns: Option[Seq[String]] = None)

/**
 * Lets a refresh read what other refreshes of its run made before that is published, or from a copy
 * that lies in memory.
 *
 * The engine says so in a local property of the thread that analyses the query, [[Overlay.Property]]:
 * `{"the view's key": {"whole": bool, "without": [spec], "with": [{"spec", "location"}]}}`. A view's relation then
 * lists what is published, but for the partitions `without` (all, if `whole`), and those `with` others. If rows are `held`
 * in Spark's memory, by the version that made them, these come in place of the latter; so do those of a `scan` of the
 * table, a directory that has only some of its `columns`. A table that is no view can be read by a scan, too.
 */
case class Overlay(session: SparkSession) extends Rule[LogicalPlan] {
  import Overlay._

  override def apply(plan: LogicalPlan): LogicalPlan =
    Option(session.sparkContext.getLocalProperty(Property)).filter(_.nonEmpty) match {
      case None => plan
      case Some(json) =>
        val overlays = Wire.decode[Map[String, Overlaid]](json)
        Access.rewrite(plan) {
          case relation @ LogicalRelation(files: HadoopFsRelation, _, Some(view), false, _)
              if FileFormats.isListing(files.location) && !files.location.isInstanceOf[OverlaidFiles] =>
            overlays.get(Names.key(view.identifier)).fold[LogicalPlan](relation) {
              case overlay @ Overlaid(_, _, _, _, Some(version), _, _) =>
                beside(relation, files, view, overlay, held(view, version))
              case overlay @ Overlaid(_, _, _, _, _, Some(place), _) =>
                beside(relation, files, view, overlay, scanned(relation, view, overlay, place))
              case overlay if Views.is(view) => listed(relation, files, view, overlay)
              case _ => relation
            }
        }
    }

  private def listed(
      relation: LogicalRelation, files: HadoopFsRelation, view: CatalogTable, overlay: Overlaid): LogicalRelation =
    // What is published says nothing of how large this is.
    relation.copy(
      relation = files.copy(location = listing(view, overlay))(files.sparkSession),
      catalogTable = Some(view.copy(stats = None)))

  /** Rows that Spark's memory holds. */
  private def held(view: CatalogTable, version: Long): LogicalPlan =
    Blocks.plan(version).getOrElse(throw new OverlayGone(
      s"Spark's memory does not hold the rows of ${Names.key(view.identifier)} any more"))

  /** Some columns of the table, as Parquet files. */
  private def scanned(relation: LogicalRelation, view: CatalogTable, overlay: Overlaid, place: String): LogicalPlan = {
    val names = overlay.columns.getOrElse(Nil).map(_.toLowerCase)
    val columns = relation.output.filter(column => names.contains(column.name.toLowerCase))
    val schema = StructType(columns.map(column => StructField(column.name, column.dataType, column.nullable)))
    val rows = session.read.schema(schema).parquet(place).queryExecution.analyzed
    rows.foreach {
      case LogicalRelation(found: HadoopFsRelation, _, _, _, _) => checked(view, overlay, found.location.sizeInBytes)
      case _ =>
    }
    rows
  }

  /** Rows, beside what stays of what is published. What they lack, nobody reads. */
  private def beside(
      relation: LogicalRelation, files: HadoopFsRelation, view: CatalogTable, overlay: Overlaid, rows: LogicalPlan)
      : LogicalPlan = {
    def as(column: Attribute, id: ExprId): NamedExpression = {
      val found = rows.output.find(_.name.equalsIgnoreCase(column.name)).getOrElse(
        unread(s"${column.name} of ${view.qualifiedName} was not scanned", column.dataType))
      Alias(found, column.name)(id)
    }
    if (overlay.whole) Project(relation.output.map(column => as(column, column.exprId)), rows)
    else if (!Views.is(view) && !knows(view, overlay)) relation
    else {
      val mine = Project(relation.output.map(column => as(column, NamedExpression.newExprId)), rows)
      Union(Seq(listed(relation, files, view, overlay), mine))
    }
  }

  /** Whether the catalog has each partition `without`, spelled so: others would be missed, or read twice. */
  private def knows(view: CatalogTable, overlay: Overlaid): Boolean = view.tracksPartitionsInCatalog && {
    val there = Access.classic(session).sessionState.catalog.listPartitions(view.identifier).map(_.spec).toSet
    overlay.without.forall(there.contains)
  }

  private def unread(text: String, kind: DataType): Expression =
    RaiseError(Literal("USER_RAISED_EXCEPTION"), CreateMap(Seq(Literal("errorMessage"), Literal(text))), kind)

  /** @throws OverlayGone when not all is there of what the other run made */
  private def listing(view: CatalogTable, overlay: Overlaid): FileIndex = {
    val classic = Access.classic(session)
    val own = overlay.`with`.map { each =>
      CatalogTablePartition(each.spec, view.storage.copy(locationUri = Some(new Path(each.location).toUri)))
    }
    val files = if (view.partitionColumnNames.isEmpty)
      new OverlaidFiles(classic, own.map(partition => new Path(partition.location)), None)
    else {
      val gone = overlay.without.toSet
      val published =
        if (overlay.whole) Nil
        else classic.sessionState.catalog.listPartitions(view.identifier).filterNot(each => gone.contains(each.spec))
      val zone = classic.sessionState.conf.sessionLocalTimeZone
      val partitions = (published ++ own).map { each =>
        PartitionPath(each.toRow(view.partitionSchema, zone), new Path(each.location))
      }
      new OverlaidFiles(classic, partitions.map(_.path), Some(PartitionSpec(view.partitionSchema, partitions)))
    }
    val places = own.map(partition => new Path(partition.location).toUri.getPath).toSet
    val found = files.allFiles().filter(file => below(places, file.getPath)).map(_.getLen).sum
    if (overlay.scan.isEmpty) checked(view, overlay, found)
    files
  }

  private def checked(view: CatalogTable, overlay: Overlaid, found: Long): Unit =
    if (found != overlay.bytes)
      throw new OverlayGone(s"some files of the refresh of ${Names.key(view.identifier)} are gone")

  private def below(places: Set[String], file: Path): Boolean =
    Iterator.iterate(file)(_.getParent).takeWhile(_ != null).exists(each => places.contains(each.toUri.getPath))
}

object Overlay {
  val Property = "spark.headwater.overlay"
}

/** Files of a view that are not all where the catalog says. */
class OverlaidFiles(
    session: org.apache.spark.sql.classic.SparkSession, roots: Seq[Path], spec: Option[PartitionSpec])
    extends InMemoryFileIndex(session, roots, Map.empty, None, userSpecifiedPartitionSpec = spec)
