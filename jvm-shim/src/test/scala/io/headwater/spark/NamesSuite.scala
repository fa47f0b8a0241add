package io.headwater.spark

import java.nio.file.{Files => Disk, Path => DiskPath}

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.internal.SQLConf
import org.json4s._
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

/** Keys are spelled as the engine spells them. */
class NamesSuite extends AnyFunSuite {
  private val golden = parse(Disk.readString(DiskPath.of("tests/golden/names.json"))).asInstanceOf[JArray].arr

  for (each <- golden) {
    val JString(key) = each \ "key"
    test(s"the golden key $key") {
      each \ "table" match {
        case JArray(parts) =>
          val names = parts.map(_.values.toString)
          val name = TableName(names.head, names.tail.init, names.last)
          assert(name.key == key)
          assert(Names.named(key) == name)
          assert(Names.anywhere(key) == (each \ "anywhere").values)
          // The session catalog keeps lower case, unless the session tells cases apart.
          assert(Names.key(names.head, name.within) == (if (names.head == Names.SessionCatalog) key.toLowerCase else key))
          name.identifier.foreach(each => assert(each.nameParts == names && Names.key(each) == key.toLowerCase))
        case _ => each \ "path" match {
          case JString(path) => assert(Names.named(key) == PathName(path))
          case _ =>
            val FunctionName(function) = Names.named(key)
            assert(Names.function(function.copy(catalog = None)) == key)
        }
      }
    }
  }

  test("Hive's catalog keeps lower case also in a session that tells cases apart") {
    for ((implementation, key) <- Seq("hive" -> "shop.sales", "in-memory" -> "Shop.Sales")) {
      val conf = new SQLConf
      conf.setConfString("spark.sql.caseSensitive", "true")
      conf.setConfString("spark.sql.catalogImplementation", implementation)
      SQLConf.withExistingConf(conf) {
        assert(Names.key(TableIdentifier("Sales", Some("Shop"))) == key)
        assert(Names.key(Names.SessionCatalog, Identifier.of(Array("Shop"), "Sales")) == key)
        assert(Names.key(Seq("lake", "Shop", "Sales")) == "lake.Shop.Sales")
      }
    }
  }

  for (text <- Seq("", ".", "a.", ".a", "a..b", "`a", "a`b"))
    test(s"'$text' is no name") { intercept[IllegalArgumentException](Names.split(text)) }
}
