package io.headwater.spark

import java.util.Locale

import scala.util.matching.Regex

import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}

/** The engine knows these by a key: a table of a catalog, files at a path, and a function. */
sealed trait Name

/** A table of any catalog, in a namespace of any depth. */
final case class TableName(catalog: String, namespace: Seq[String], name: String) extends Name {

  /** The name in Spark's session catalog, whose databases hold tables alone; none of a table that lies elsewhere. */
  def identifier: Option[TableIdentifier] = namespace match {
    case Seq(database) if catalog == Names.SessionCatalog => Some(TableIdentifier(name, Some(database), Some(catalog)))
    case _ => None
  }

  /** The name within its catalog. */
  def within: Identifier = Identifier.of(namespace.toArray, name)

  def key: String = {
    val inner = if (namespace.isEmpty) Seq("") else namespace // else it were a table of the session catalog
    val own = inner :+ name
    Names.spelled(if (identifier.nonEmpty) own else catalog +: own)
  }
}
final case class PathName(path: String) extends Name
final case class FunctionName(identifier: FunctionIdentifier) extends Name

/**
 * Spells names as keys and reads them. The table `2023_orders` of the database `default` has the key `default.2023_orders`.
 * A part with other characters than letters, digits and `_` stands in backticks. Each catalog but the session's is part of
 * the key. A table in no namespace has an empty one there. The engine spells keys in the same way (`headwater.model.name`),
 * and tests/golden/names.json holds for both.
 */
object Names {
  val SessionCatalog = "spark_catalog"
  private val Plain = "[A-Za-z0-9_]+".r
  private val Word = "[A-Za-z_][A-Za-z0-9_]*".r
  private val Path = "path:"
  private val Function = "function:"

  def key(table: TableIdentifier): String = key(table.nameParts)

  /** The key of a table. Two parts are a database of the session catalog and a name. */
  def key(parts: Seq[String]): String = parts match {
    case Seq(_) => spelled(parts)
    case Seq(database, name) => kept(TableName(SessionCatalog, Seq(database), name)).key
    case _ => kept(of(parts)).key
  }

  /** The key of a table that a catalog has. */
  def key(catalog: String, table: Identifier): String = kept(TableName(catalog, table.namespace.toSeq, table.name)).key

  /**
   * Whether the session catalog keeps names in lower case. That of Hive always does, and Spark's own does unless the session
   * tells cases apart. No table says so: what Hive loads has the name that it was asked for.
   */
  def folds: Boolean = {
    val conf = SQLConf.get
    !conf.caseSensitiveAnalysis || conf.getConf(StaticSQLConf.CATALOG_IMPLEMENTATION) == "hive"
  }

  /** Whether Spark finds its session catalog by a name. It does so in any case, which holds for no other catalog. */
  def isSession(catalog: String): Boolean = catalog.equalsIgnoreCase(SessionCatalog)

  /** A table under the name that its catalog keeps. */
  private def kept(table: TableName): TableName =
    if (!isSession(table.catalog)) table
    else if (!folds) table.copy(catalog = SessionCatalog)
    else TableName(SessionCatalog, table.namespace.map(lower), lower(table.name))

  private def lower(part: String): String = part.toLowerCase(Locale.ROOT)

  def function(function: FunctionIdentifier): String = Function + spelled(function.database.toSeq :+ function.funcName)

  def spelled(parts: Seq[String]): String = spelled(parts, Plain)

  /** A table as a statement that a message advises names it: it means the same whatever catalog is the current one. */
  def anywhere(key: String): String = {
    val name = table(key)
    spelled((name.catalog +: name.namespace) :+ name.name, Word)
  }

  private def spelled(parts: Seq[String], plain: Regex): String = parts.map {
    case each if plain.matches(each) => each
    case other => "`" + other.replace("`", "``") + "`"
  }.mkString(".")

  /** @throws IllegalArgumentException when no name has this key */
  def named(key: String): Name =
    if (key.startsWith(Path)) PathName(key.stripPrefix(Path))
    else if (key.startsWith(Function)) split(key.stripPrefix(Function)) match {
      case Seq(database, name) => FunctionName(FunctionIdentifier(name, Some(database), Some(SessionCatalog)))
      case _ => throw new IllegalArgumentException(s"not a function: $key")
    }
    else table(key)

  /** @throws IllegalArgumentException when no table has this key */
  def table(key: String): TableName = split(key) match {
    case Seq(_) => throw new IllegalArgumentException(s"not a table: $key")
    case Seq(database, name) => TableName(SessionCatalog, Seq(database), name)
    case parts => of(parts)
  }

  /** The identifier of a table of the session catalog. */
  def identifier(key: String): TableIdentifier =
    table(key).identifier.getOrElse(throw new IllegalArgumentException(s"not a table of the session catalog: $key"))

  private def of(parts: Seq[String]): TableName = TableName(parts.head, parts.tail.init.filter(_.nonEmpty), parts.last)

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
