package io.headwater.spark

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/**
 * Messages as text, and text as messages: the only place that does either (docs/protocol.md). Fields have the names that they
 * have on the wire, so these are the names of the case classes' members, too. A member that is `None` is `null` there.
 */
private[spark] object Wire {
  private val kinds = new CustomSerializer[CommandKind](_ => (
    { case JString(word) => CommandKind.of(word) },
    { case kind: CommandKind => JString(kind.word) }))

  private val statements = new CustomSerializer[StatementKind](_ => (
    { case JString(word) => StatementKind.of(word) },
    { case kind: StatementKind => JString(kind.word) }))

  private implicit val formats: Formats = DefaultFormats.preservingEmptyValues + kinds + statements

  def encode(value: Any): String = compact(render(Extraction.decompose(value)))

  /** A message with its type: the fields of all these parts. */
  def encode(messageType: String, parts: Product*): String =
    compact(render(JObject(("type" -> JString(messageType)) :: parts.toList.flatMap(fields))))

  def decode[T: Manifest](text: String): T = parse(text).extract[T]

  private def fields(value: Product): List[JField] = Extraction.decompose(value).asInstanceOf[JObject].obj
}
