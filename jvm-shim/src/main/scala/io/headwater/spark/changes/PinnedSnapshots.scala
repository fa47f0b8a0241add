package io.headwater.spark

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{AnalysisContext, RelationTimeTravel, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Alias, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.headwater.Access

/**
 * How a query reads a table as it was at a snapshot.
 *
 * @param version the snapshot; empty, unless it is one of `files`: the table had no rows then
 * @param columns for each column of the table now an expression over those of the snapshot; none: they are the same
 * @param rows the name of changed rows of the table ([[StandIns]]): each place where it is read is left open ([[Terms]])
 * @param files whether it is a table of files ([[FileSnapshots]])
 * @param root of a view in files, the directory that keeps its versions ([[FileVersions]]); empty: it is no such view
 * @param live whether it is read as it is at that moment
 * @param until a condition on its rows; empty: all are read
 */
final case class Pin(
    version: String,
    columns: Seq[Seq[String]],
    rows: Option[String] = None,
    files: Boolean = false,
    root: String = "",
    live: Boolean = false,
    until: String = "")

/**
 * Lets a refresh read each table with snapshots at one of them, however often its query names it and through whatever
 * views, while programs go on writing.
 *
 * The engine says so in a setting of the refresh's own session, [[PinnedSnapshots.Setting]]: pins by the tables' keys. The
 * rule comes before resolution, so a query means just what it would mean with `VERSION AS OF` at each name.
 */
case class PinnedSnapshots(session: SparkSession) extends Rule[LogicalPlan] {
  import PinnedSnapshots._

  override def apply(plan: LogicalPlan): LogicalPlan = Access.setting(session, Setting) match {
    case None => plan
    case Some(json) =>
      val pins = Wire.decode[Map[String, Pin]](json)
      plan.resolveOperatorsUp {
        case relation: UnresolvedRelation if !relation.isStreaming && relation.getTagValue(AsItIs).isEmpty =>
          key(relation.multipartIdentifier).flatMap(name => pins.get(name).map(name -> _)).fold[LogicalPlan](
            relation) { case (name, pin) => cut(relation, name, pin) }
      }
  }

  /** The rows of a pinned table up to its condition. */
  private def cut(relation: UnresolvedRelation, name: String, pin: Pin): LogicalPlan =
    if (pin.until.isEmpty) pinned(relation, name, pin)
    else SubqueryAlias(parts(relation, name), Filter(parsed(pin.until), pinned(relation, name, pin)))

  private def parsed(sql: String) = Access.classic(session).sessionState.sqlParser.parseExpression(sql)

  /** A table, by its name in a query and its key, as a pin says. */
  private[spark] def pinned(relation: UnresolvedRelation, name: String, pin: Pin): LogicalPlan =
    if (pin.live) {
      val read = relation.clone().asInstanceOf[UnresolvedRelation]
      read.setTagValue(AsItIs, ())
      read
    } else if (pin.rows.nonEmpty) {
      val all = parts(relation, name)
      SubqueryAlias(all, StandIns.place(pin.rows.get, name, all))
    } else if (pin.root.nonEmpty)
      SubqueryAlias(parts(relation, name), FileVersions.read(session, name, pin.root, pin.version, options(relation)))
    else if (pin.files)
      SubqueryAlias(parts(relation, name),
        FileSnapshots.read(session, name, pin.version, options(relation)))
    else if (pin.version.isEmpty) {
      val read = relation.clone().asInstanceOf[UnresolvedRelation]
      read.setTagValue(AsItIs, ())
      Filter(Literal.FalseLiteral, read)
    } else {
      val old = RelationTimeTravel(relation, None, Some(pin.version))
      if (pin.columns.isEmpty) old
      else {
        val columns = pin.columns.map { case Seq(name, sql) => Alias(parsed(sql), name)() }
        SubqueryAlias(parts(relation, name), Project(columns, old))
      }
    }

  private def options(relation: UnresolvedRelation): Map[String, String] = relation.options.asCaseSensitiveMap.asScala.toMap

  /** All parts of a name, as Spark has them: a query may qualify a column with more of them than it names the table by. */
  private def parts(relation: UnresolvedRelation, key: String): Seq[String] = Names.named(key) match {
    case table: TableName => table.catalog +: table.namespace :+ table.name
    case _ => relation.multipartIdentifier
  }

  /** The key of the table that a name means here, as Spark finds it; none for a temporary view. */
  private[spark] def key(parts: Seq[String]): Option[String] = parts match {
    case Seq(format, path) if !isTemporary(session, parts) && Format.of(format).exists(_.snapshots) && path.contains("/") =>
      Some(s"path:${qualified(path)}")
    case _ => identified(session, parts).map { case (catalog, identifier) => Names.key(catalog, identifier) }
  }

  private def qualified(path: String): String = {
    val place = new Path(path)
    Try(place.getFileSystem(Access.classic(session).sessionState.newHadoopConf()).makeQualified(place)).getOrElse(place).toString
  }
}

object PinnedSnapshots {
  val Setting = "spark.headwater.pins"
  private val AsItIs = TreeNodeTag[Unit]("headwater.as_it_is")

  /** The catalog and the table that a name means here: in an ordinary view, as the view was made. None for a temporary view. */
  private[spark] def identified(session: SparkSession, parts: Seq[String]): Option[(String, Identifier)] =
    if (isTemporary(session, parts)) None
    else {
      val manager = Access.classic(session).sessionState.catalogManager
      val (catalog, namespace) = AnalysisContext.get.catalogAndNamespace match {
        case Nil => (manager.currentCatalog.name, manager.currentNamespace.toSeq)
        case ofView => (ofView.head, ofView.tail)
      }
      Some(parts match {
        case Seq(name) => (catalog, Identifier.of(namespace.toArray, name))
        case head +: inner if manager.isCatalogRegistered(head) => (head, Identifier.of(inner.init.toArray, inner.last))
        case _ => (catalog, Identifier.of(parts.init.toArray, parts.last))
      })
    }

  /** Whether a name means a temporary view. An ordinary view knows only those that it was made with. */
  private def isTemporary(session: SparkSession, parts: Seq[String]): Boolean = {
    val state = Access.classic(session).sessionState
    val context = AnalysisContext.get
    def referred = context.referredTempViewNames.exists { each =>
      each.length == parts.length && each.zip(parts).forall { case (one, other) => state.conf.resolver(one, other) }
    }
    state.catalog.isTempView(parts) && (context.catalogAndNamespace.isEmpty || referred)
  }

  /** Whether nothing says yet at which snapshot a relation is read. */
  private[spark] def isOpen(relation: UnresolvedRelation): Boolean = relation.getTagValue(AsItIs).isEmpty
}
