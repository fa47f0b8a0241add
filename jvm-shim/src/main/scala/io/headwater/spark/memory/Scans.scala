package io.headwater.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.headwater.Needs

/** Some columns of a table, of the rows for which all conditions of one of the lists hold. */
final case class Extract(columns: Seq[String], rows: Seq[Seq[String]])

object Extract {
  def of(needs: Needs): Extract =
    Extract(needs.columns.toList.sorted, needs.rows.toList.map(_.toList.sorted).sortBy(_.mkString))
}

/** What queries need of tables, so that one scan can be made for several of them. */
object Scans {

  /**
   * What a query needs of the tables that it reads, as far as that is known.
   *
   * @return a JSON object from a table's name to [[Extract]]
   */
  def needs(frame: DataFrame): String =
    Wire.encode(Needs.of(frame).map { case (table, needs) => table -> Extract.of(needs) })
}
