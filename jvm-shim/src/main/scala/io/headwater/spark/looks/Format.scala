package io.headwater.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.util.Using

/**
 * What a table format can do. The engine's `model/format.py` is the same table, and says what each member means; it has more.
 */
private[spark] final case class Format(
    name: String,
    title: String,
    listed: Boolean,
    snapshots: Boolean,
    by_path: Boolean,
    zoned: Boolean,
    by_position: Boolean,
    kept_by_sessions: Boolean,
    own_catalogs: Boolean,
    artifact: String,
    needs: String,
    catalogs: String,
    relations: String,
    directory: String) {

  /** Whether classes of its own find the rows of a table. */
  def ownClasses: Boolean = needs.nonEmpty

  /** Whether a class is of its catalogs, or of their tables. */
  def made(name: String): Boolean = catalogs.nonEmpty && name.startsWith(catalogs)
}

/** The table of formats. Nothing else decides by a format's name. */
private[spark] object Format {
  val all: Seq[Format] = Using.resource(getClass.getResourceAsStream("/headwater/formats.json")) { in =>
    Wire.decode[Seq[Format]](new String(in.readAllBytes, UTF_8))
  }

  private val byName = all.map(each => each.name -> each).toMap

  def of(name: String): Option[Format] = byName.get(name.toLowerCase(Locale.ROOT))

  /** The format with catalogs of its own that has a class. */
  def ofClass(name: String): Option[Format] = all.find(each => each.own_catalogs && each.made(name))
}
