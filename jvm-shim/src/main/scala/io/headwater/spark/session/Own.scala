package io.headwater.spark

import java.util.concurrent.ConcurrentHashMap

/** Announcements of what Headwater itself did to a table. One that never comes hides another one, which a check makes up for. */
private[spark] object Own {
  private val expected = new ConcurrentHashMap[(String, String), Int]

  def expect(database: String, table: String): Unit = expected.merge((database, table), 1, _ + _)

  def is(database: String, table: String): Boolean = {
    var found = false
    expected.computeIfPresent((database, table), (_, count) => { found = true; if (count > 1) count - 1 else 0 })
    expected.remove((database, table), 0)
    found
  }
}
