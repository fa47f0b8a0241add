package io.headwater.spark

import org.json4s.{JString, JValue}

/** What a command does, as far as it matters to what is found afterwards. */
sealed abstract class CommandKind(val word: String) extends Product with Serializable

object CommandKind {
  case object Insert extends CommandKind("insert")
  case object Truncate extends CommandKind("truncate")
  case object Load extends CommandKind("load")
  case object Stream extends CommandKind("stream")
  case object Create extends CommandKind("create")
  case object Alter extends CommandKind("alter")
  case object Drop extends CommandKind("drop")

  private val all = Seq(Insert, Truncate, Load, Stream, Create, Alter, Drop)

  def of(word: String): CommandKind = all.find(_.word == word).getOrElse(throw new IllegalArgumentException(s"no kind: $word"))
}

/** A statement of Headwater's, by its leading words. */
sealed abstract class StatementKind(val word: String, val definesViews: Boolean = false) extends Product with Serializable

object StatementKind {
  case object Drain extends StatementKind("drain")
  case object Refresh extends StatementKind("refresh")
  case object Verify extends StatementKind("verify")
  case object ShowViews extends StatementKind("show_views")
  case object ShowRefreshes extends StatementKind("show_refreshes")
  case object Describe extends StatementKind("describe")
  case object ShowGroups extends StatementKind("show_groups")
  case object DescribeGroup extends StatementKind("describe_group")
  case object RefreshGroup extends StatementKind("refresh_group")
  case object Explain extends StatementKind("explain")
  case object Alter extends StatementKind("alter", definesViews = true)
  case object Drop extends StatementKind("drop", definesViews = true)

  val all: Seq[StatementKind] = Seq(Drain, Refresh, Verify, ShowViews, ShowRefreshes, Describe, ShowGroups, DescribeGroup,
    RefreshGroup, Explain, Alter, Drop)

  def of(word: String): StatementKind =
    all.find(_.word == word).getOrElse(throw new IllegalArgumentException(s"no kind: $word"))
}

/**
 * Something was perhaps written.
 *
 * @param table its key (see [[Names]])
 * @param partitions those that the statement named (`None` is the null partition); empty when it did not say
 * @param watermark of the stream whose batch it was (ms since 1970), if it has one
 */
final case class Hint(
    table: Option[String] = None,
    path: Option[String] = None,
    database: Option[String] = None,
    renamed: Option[String] = None,
    partitions: Seq[Map[String, Option[String]]] = Nil,
    command: String,
    kind: CommandKind,
    watermark: Option[Long] = None)

/** Of a user's session, all that gives a statement its meaning. */
final case class SessionFacts(
    catalog: String, database: String, settings: Map[String, String], catalogs: Seq[String] = Seq(Names.SessionCatalog),
    folds: Boolean = true)

/** The number of a question, by which it is answered, and its session. */
final case class Asking(id: Long, session: SessionFacts)

/** A message for whose answer a session waits. */
sealed trait Question extends Product {
  /** Its type on the wire. */
  def messageType: String

  /** Whether it may be carried out twice, when an engine was killed over it: it changes no definition. */
  def repeatable: Boolean

  /** Whether what was written before is to be on record before it is answered. */
  def afterWrites: Boolean = true
}

final case class ColumnDef(name: String, `type`: String, comment: Option[String])

/** `[EXPLAIN] CREATE [OR REPLACE] MATERIALIZED VIEW`, as Spark parsed and resolved it. */
final case class CreateQuestion(
    name: Seq[String],
    columns: Seq[ColumnDef],
    partitioning: Seq[String],
    format: Option[String],
    comment: Option[String],
    properties: Map[String, String],
    query: String,
    if_not_exists: Boolean,
    or_replace: Boolean,
    explained: Boolean,
    temporary: Seq[String],
    temporary_functions: Seq[String],
    job: Option[String] = None,
    fingerprint: Option[String] = None) extends Question {
  override def messageType: String = "create"
  override def repeatable: Boolean = false
}

/** Any other statement of Headwater's; the engine parses its text. */
final case class StatementQuestion(kind: StatementKind, text: String) extends Question {
  override def messageType: String = "statement"
  override def repeatable: Boolean = !kind.definesViews
}

/** A write that waits for the views downstream. */
final case class WaitQuestion(hints: Seq[Hint]) extends Question {
  override def messageType: String = "wait"
  override def repeatable: Boolean = true
}

/** `DROP TABLE` of a view's table, which is about to happen. */
final case class DroppingQuestion(table: String) extends Question {
  override def messageType: String = "dropping"
  override def repeatable: Boolean = true
}

/**
 * A statement reads tables, by their keys, at an epoch that the session names; none: at the one of each group that readers see.
 * The answer to its first such question has the moment for the others. With `sources`, base tables are read at the states of the
 * epoch, too.
 */
final case class PinningQuestion(tables: Seq[String], epoch: Option[Long], moment: Option[Long], sources: Boolean) extends Question {
  override def messageType: String = "pinning"
  override def repeatable: Boolean = true
  override def afterWrites: Boolean = false
}

/** The moment at which a statement reads, and how it reads those of the tables that it asked for which have an epoch. */
final case class PinningAnswer(moment: Long, pins: Map[String, Pin])

/** Nobody waits for the answer to a question any more. */
final case class Abandoned(id: Long)

/** A column of an answer; the type as Spark's DDL spells it. */
final case class AnswerColumn(name: String, `type`: String)

/** The engine's answer: rows with their columns, or why there are none. */
final case class Reply(columns: Seq[AnswerColumn] = Nil, rows: Seq[Seq[JValue]] = Nil, error: Option[String] = None) {
  /** The sentence of an answer that has one. */
  def sentence: Option[String] = rows.flatten.collectFirst { case JString(text) => text }
}
