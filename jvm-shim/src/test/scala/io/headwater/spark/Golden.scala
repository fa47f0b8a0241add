package io.headwater.spark

import java.nio.file.{Files => Disk, Path => File}

import org.json4s._
import org.json4s.jackson.JsonMethods.parse

/** The example messages that the Python tests read too. */
object Golden {
  private val directory = File.of("tests", "golden", "protocol")

  def text(name: String): String = Disk.readString(directory.resolve(s"$name.json"))

  def json(name: String): JValue = parse(text(name))

  def body(name: String): JObject =
    JObject(json(name).asInstanceOf[JObject].obj.filterNot { case (key, _) => Set("type", "id", "session")(key) })
}
