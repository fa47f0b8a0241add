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

  /** By hand, because a look may find a hundred thousand: reflection takes three times as long. Reading one is left to it. */
  private object Partitions extends Serializer[FoundPartition] {
    override def deserialize(implicit formats: Formats): PartialFunction[(TypeInfo, JValue), FoundPartition] =
      PartialFunction.empty

    override def serialize(implicit formats: Formats): PartialFunction[Any, JValue] = {
      case each: FoundPartition => JObject(
        "values" -> JObject(each.values.toList.map { case (column, value) => column -> text(value) }),
        "spec" -> JObject(each.spec.toList.map { case (column, value) => column -> JString(value) }),
        "version" -> each.version.fold[JValue](JNull)(JInt(_)),
        "fingerprint" -> JString(each.fingerprint),
        "location" -> text(each.location),
        "files" -> JInt(each.files),
        "bytes" -> JInt(each.bytes),
        "away" -> JBool(each.away))
    }

    private def text(value: Option[String]): JValue = value.fold[JValue](JNull)(JString(_))
  }

  private implicit val formats: Formats = DefaultFormats.preservingEmptyValues + kinds + statements + Partitions

  def encode(value: Any): String = compact(render(Extraction.decompose(value)))

  /** A message with its type: the fields of all these parts. */
  def encode(messageType: String, parts: Product*): String =
    compact(render(JObject(("type" -> JString(messageType)) :: parts.toList.flatMap(fields))))

  def decode[T: Manifest](text: String): T = parse(text).extract[T]

  private def fields(value: Product): List[JField] = Extraction.decompose(value).asInstanceOf[JObject].obj
}
