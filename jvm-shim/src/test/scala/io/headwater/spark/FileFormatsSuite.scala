package io.headwater.spark

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

class FileFormatsSuite extends AnyFunSuite {

  private def isListed(input: String, properties: (String, String)*): Boolean = FileFormats.isListed(CatalogTable(
    TableIdentifier("t"), CatalogTableType.EXTERNAL, CatalogStorageFormat.empty.copy(inputFormat = Some(input)), new StructType,
    properties = properties.toMap))

  test("of Hive's tables those are followed whose rows are the files in their directories") {
    val (text, parquet) = ("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat")
    assert(isListed(text) && isListed(parquet, "transactional" -> "false"))
    assert(!isListed(text, "storage_handler" -> "org.apache.hadoop.hive.hbase.HBaseStorageHandler"))
    assert(!isListed("org.apache.hadoop.hive.ql.io.orc.OrcInputFormat", "transactional" -> "TRUE"))
    assert(!isListed("org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat"))
    assert(!isListed("org.apache.hudi.hadoop.HoodieParquetInputFormat"))
  }

  test("a directory says whose table its files are, and so does one that it lies in") {
    val session = LocalSpark.emptyShop()
    val conf = new Configuration()
    val root = s"${LocalSpark.warehouse}/owned"
    Seq("d/_delta_log", "d/day=1", "h/.hoodie", "i/metadata/1.metadata.json", "i/data", "p/metadata/note.json")
      .foreach(each => Files.make(session, s"$root/$each"))
    val formats = Seq("d" -> "delta", "h" -> "hudi", "i" -> "iceberg")
    formats.foreach { case (name, format) => assert(FileFormats.owned(conf, new Path(root, name)).contains(format)) }
    assert(FileFormats.owned(conf, new Path(root, "d/day=1")).isEmpty)
    assert(FileFormats.owning(conf, new Path(root, "d/day=1")).contains("delta"))
    assert(FileFormats.owning(conf, new Path(root, "i/data/part.parquet")).contains("iceberg"))
    Seq("p", "p/metadata", "gone").foreach(each => assert(FileFormats.owning(conf, new Path(root, each)).isEmpty))
  }
}
