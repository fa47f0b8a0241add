package io.headwater.spark

import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}

/** What the engine knows by a key: a table of a catalog, files at a path, or a function. */
sealed trait Name
final case class TableName(identifier: TableIdentifier) extends Name
final case class PathName(path: String) extends Name
final case class FunctionName(identifier: FunctionIdentifier) extends Name

/**
 * Spells names as keys and reads them. The table `2023_orders` of the database `default` has the key `default.2023_orders`;
 * a part with other characters than letters, digits and `_` stands in backticks. The engine spells keys in the same way
 * (`headwater.model.name`), and tests/golden/names.json holds for both.
 */
object Names {
  val SessionCatalog = "spark_catalog"
  private val Plain = "[A-Za-z0-9_]+".r
  private val Path = "path:"
  private val Function = "function:"

  /** The key of a table; the session catalog is left out. */
  def key(table: TableIdentifier): String = key(table.nameParts)

  def key(parts: Seq[String]): String =
    spelled(if (parts.size == 3 && parts.head == SessionCatalog) parts.tail else parts)

  def function(function: FunctionIdentifier): String = Function + spelled(function.database.toSeq :+ function.funcName)

  def spelled(parts: Seq[String]): String = parts.map {
    case plain @ Plain() => plain
    case other => "`" + other.replace("`", "``") + "`"
  }.mkString(".")

  /** @throws IllegalArgumentException when no name has this key */
  def named(key: String): Name =
    if (key.startsWith(Path)) PathName(key.stripPrefix(Path))
    else if (key.startsWith(Function)) split(key.stripPrefix(Function)) match {
      case Seq(database, name) => FunctionName(FunctionIdentifier(name, Some(database), Some(SessionCatalog)))
      case _ => throw new IllegalArgumentException(s"not a function: $key")
    }
    else TableName(table(key))

  /** @throws IllegalArgumentException when no table has this key */
  def table(key: String): TableIdentifier = split(key) match {
    case Seq(database, name) => TableIdentifier(name, Some(database), Some(SessionCatalog))
    case Seq(catalog, database, name) => TableIdentifier(name, Some(database), Some(catalog))
    case _ => throw new IllegalArgumentException(s"not a table: $key")
  }

  private val Part = "`((?:[^`]|``)*)`|([^`.]+)".r

  private[spark] def split(text: String): Seq[String] = {
    def from(at: Int): List[String] = Part.findPrefixMatchOf(text.substring(at)) match {
      case None => throw new IllegalArgumentException(s"not a name: $text")
      case Some(found) =>
        val part = Option(found.group(1)).map(_.replace("``", "`")).getOrElse(found.group(2))
        val end = at + found.end
        if (end == text.length) List(part)
        else if (text.charAt(end) == '.') part :: from(end + 1)
        else throw new IllegalArgumentException(s"not a name: $text")
    }
    from(0)
  }
}
