package io.headwater.spark

import org.scalatest.funsuite.AnyFunSuite

class PatienceSuite extends AnyFunSuite {
  private val short = Some(1000L)

  test("the wait doubles from a minute to an hour") {
    val patience = new Patience
    val minutes = None +: Seq.fill(7)(short) map (patience.waitMillis(_) / 60000)
    assert(minutes == Seq(1, 2, 4, 8, 16, 32, 60, 60))
  }

  test("after an engine that worked for ten minutes it is a minute again") {
    val patience = new Patience
    Seq.fill(5)(short).foreach(patience.waitMillis)
    assert(patience.waitMillis(Some(Patience.SteadyMillis)) == Patience.FirstMillis)
    assert(patience.waitMillis(short) == 2 * Patience.FirstMillis)
  }
}
