package io.headwater.spark

import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.catalog._
import org.apache.spark.sql.headwater.Access
import org.json4s._

/**
 * Turns what Spark announces into hints for the engine: something was written to this table or path,
 * perhaps only in these partitions. A hint decides nothing; the engine compares the table's state.
 */
final class WriteListener(application: Application) {

  def on(event: SparkListenerEvent): Unit = event match {
    case changed: ExternalCatalogEvent => catalogHint(changed).foreach(send)
    case finished =>
      Access.finished(finished)
        .filterNot(execution => Internal.is(execution.sparkSession))
        .foreach(execution => Writes.of(execution).distinct.foreach(send))
  }

  private def send(hint: Hint): Unit = {
    Bridge.tell("hint", hint.json)
    application.wakeEngine()
  }

  private def catalogHint(event: ExternalCatalogEvent): Option[Hint] = event match {
    case CreateTableEvent(database, name) => Some(Hint(table = Some(key(database, name)), command = "CREATE TABLE"))
    case DropTableEvent(database, name) => Some(Hint(table = Some(key(database, name)), command = "DROP TABLE"))
    case RenameTableEvent(database, name, renamed) =>
      Some(Hint(table = Some(key(database, name)), renamed = Some(key(database, renamed)), command = "ALTER TABLE RENAME"))
    case AlterTableEvent(_, _, AlterTableKind.STATS) => None
    case AlterTableEvent(database, name, AlterTableKind.TABLE) if Own.is(database, name) => None
    case AlterTableEvent(database, name, _) =>
      Some(Hint(table = Some(key(database, name)), command = "ALTER TABLE"))
    case CreateFunctionEvent(database, name) => Some(function(database, name, "CREATE FUNCTION"))
    case AlterFunctionEvent(database, name) => Some(function(database, name, "CREATE OR REPLACE FUNCTION"))
    case DropFunctionEvent(database, name) => Some(function(database, name, "DROP FUNCTION"))
    case DropDatabaseEvent(database) => Some(Hint(database = Some(database), command = "DROP DATABASE"))
    case _ => None
  }

  private def function(database: String, name: String, command: String): Hint =
    Hint(table = Some(Names.function(FunctionIdentifier(name, Some(database)))), command = command)

  private def key(database: String, name: String): String = Names.key(Seq(database, name))
}

/**
 * @param table its key (see [[Names]])
 * @param partitions what the statement said it writes (a null value is the null partition); empty when it did not say
 */
final case class Hint(
    table: Option[String] = None,
    path: Option[String] = None,
    database: Option[String] = None,
    renamed: Option[String] = None,
    partitions: Seq[Map[String, String]] = Nil,
    command: String) {

  def json: JObject = JObject(
    "table" -> text(table), "path" -> text(path), "database" -> text(database), "renamed" -> text(renamed),
    "partitions" -> JArray(partitions.map { spec =>
      JObject(spec.toList.sorted.map { case (column, value) => column -> text(Option(value)) })
    }.toList),
    "command" -> JString(command))

  private def text(value: Option[String]): JValue = value.map(JString(_)).getOrElse(JNull)
}
