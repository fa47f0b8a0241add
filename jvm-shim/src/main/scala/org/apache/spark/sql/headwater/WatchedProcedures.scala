package org.apache.spark.sql.headwater

import java.util.{Iterator => JavaIterator}

import scala.util.Try

import io.headwater.spark.{Application, Catalogs, CommandKind, DirectWriteGuard, Hint, Internal, Names}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{ResolvedProcedure, UnresolvedProcedure}
import org.apache.spark.sql.catalyst.plans.logical.{Call, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{CatalogManager, Identifier, LookupCatalog, ProcedureCatalog}
import org.apache.spark.sql.connector.catalog.procedures.{BoundProcedure, ProcedureParameter, UnboundProcedure}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.types.{StringType, StructType}

/**
 * Lets each procedure of a catalog tell which table it was called for, when it is done:
 * `CALL lake.system.rollback_to_snapshot('db.t', 1)`.
 *
 * Spark calls a procedure while it analyses the statement, and announces nothing. The rule comes before that.
 */
case class WatchedProcedures(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  override protected lazy val catalogManager: CatalogManager = Access.classic(session).sessionState.catalogManager

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case call @ Call(UnresolvedProcedure(CatalogAndIdentifier(catalog: ProcedureCatalog, name)), _, _) if !Internal.is(session) =>
      val watched = Try(catalog.loadProcedure(name)).map { found =>
        call.copy(procedure = ResolvedProcedure(catalog, name, WatchedProcedure(found, Watch(catalog.name, found.name))))
      }
      watched.getOrElse(call) // Spark says itself that there is no such procedure.
    case _ => plan
  }

  private case class Watch(catalog: String, procedure: String) extends Watching {
    override def before(table: String): Unit =
      if (!Harmless.matches(procedure)) key(catalog, table).foreach(DirectWriteGuard(session).refuseView)

    override def within(place: String, table: Option[String]): Unit =
      DirectWriteGuard(session).refusePlace(place, table.flatMap(key(catalog, _)))

    /** A table that takes over files may delete them later. */
    override def taking(source: String): Unit = if (procedure == "add_files") parts(source) match {
      case Seq(_, path) if path.contains("/") => DirectWriteGuard(session).refusePlace(path, None)
      case _ => key(Names.SessionCatalog, source).foreach(DirectWriteGuard(session).refuseView)
    }

    override def after(table: String): Unit = key(catalog, table).foreach { found =>
      val hint = Hint(table = Some(found), command = s"CALL $procedure", kind = CommandKind.Alter)
      Application.of(session.sparkContext).tell(hint)
    }
  }

  /** Procedures after which a table has the same rows: anybody may tidy up a view's table. */
  private val Harmless = "rewrite_.*|expire_snapshots|remove_orphan_files|compute_.*|ancestors_of|create_changelog_view".r

  private def parts(name: String): Seq[String] =
    Try(Access.classic(session).sessionState.sqlParser.parseMultipartIdentifier(name)).getOrElse(Nil)

  /** The table that a procedure of a catalog means by a name. */
  private def key(catalog: String, table: String): Option[String] =
    Some(parts(table)).filter(_.nonEmpty).map {
      case head +: inner if inner.nonEmpty && Catalogs.names(session).contains(head) => key(head, inner.init, inner.last)
      case Seq(one) if catalogManager.currentCatalog.name == catalog => key(catalog, catalogManager.currentNamespace.toSeq, one)
      case parts => key(catalog, parts.init, parts.last)
    }

  private def key(catalog: String, namespace: Seq[String], name: String): String =
    Names.key(catalog, Identifier.of(namespace.toArray, name))
}

/** What is done about each table that a procedure is called for. */
private trait Watching {
  def before(table: String): Unit

  /** A directory that it writes, or cleans up, for the table. */
  def within(place: String, table: Option[String]): Unit

  /** A table or directory whose files the table gets. */
  def taking(source: String): Unit
  def after(table: String): Unit
}

private case class WatchedProcedure(plain: UnboundProcedure, watch: Watching) extends UnboundProcedure {
  override def name: String = plain.name
  override def description: String = plain.description
  override def bind(input: StructType): BoundProcedure = WatchedCall(plain.bind(input), watch)
}

private case class WatchedCall(plain: BoundProcedure, watch: Watching) extends BoundProcedure {
  override def name: String = plain.name
  override def description: String = plain.description
  override def parameters: Array[ProcedureParameter] = plain.parameters
  override def isDeterministic: Boolean = plain.isDeterministic

  override def call(input: InternalRow): JavaIterator[Scan] = {
    val own = texts(input, _ == "table")
    own.foreach(watch.before)
    texts(input, _.endsWith("location")).foreach(watch.within(_, own.headOption))
    texts(input, _ == "source_table").foreach(watch.taking)
    try plain.call(input) finally texts(input, _.contains("table")).foreach(watch.after)
  }

  private def texts(input: InternalRow, named: String => Boolean): Seq[String] = parameters.toSeq.zipWithIndex.collect {
    case (parameter, i) if named(parameter.name) && parameter.dataType == StringType && !input.isNullAt(i) =>
      input.getUTF8String(i).toString
  }
}
