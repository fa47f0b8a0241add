package io.headwater.spark

import java.math.{BigDecimal => Decimal}

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The sums of [[ExactNumber]] beside those of decimal numbers without a limit. */
class ExactNumberSuite extends AnyFunSuite {
  private val odd = Seq(Double.MinPositiveValue, -Double.MinPositiveValue, 0.0, -0.0, 1e-310, 1.0, -1.0, 0.1, 1e16, -1e16, 1e300,
    Double.MaxValue, -Double.MaxValue)

  private def numbers(random: Random, count: Int, odds: Boolean): Seq[Double] = Seq.fill(count) {
    random.nextInt(if (odds) 4 else 3) match {
      case 0 => random.nextGaussian() * 1000
      case 1 => random.nextInt(100) / 10.0
      case 2 => math.scalb(random.nextGaussian(), random.nextInt(200) - 100)
      case _ => odd(random.nextInt(odd.length))
    }
  }

  private def exactly(numbers: Iterable[Double]): Decimal = numbers.map(new Decimal(_)).foldLeft(Decimal.ZERO)(_.add(_))

  private def summed(numbers: Iterable[Double]): ExactNumber = {
    val sum = new ExactNumber
    numbers.foreach(sum.add(_, 1))
    sum
  }

  private def squared(numbers: Iterable[Double]): ExactNumber = {
    val sum = new ExactNumber
    numbers.foreach(sum.addSquare(_, 1))
    sum
  }

  test("a sum is rounded once, in whatever order its terms come") {
    val random = new Random(7)
    for (n <- 1 to 2000) {
      val own = numbers(random, n % 40, odds = true)
      val sum = summed(own)
      assert(sum.toDouble == exactly(own).doubleValue, own)
      assert(summed(random.shuffle(own)).toBytes sameElements sum.toBytes, own)
    }
  }

  test("what is taken away leaves nothing") {
    val random = new Random(8)
    for (n <- 1 to 500) {
      val (kept, gone) = (numbers(random, n % 20, odds = true) :+ Double.NaN, numbers(random, n % 30, odds = true) :+ Double.NegativeInfinity)
      val sum = summed(random.shuffle(kept ++ gone))
      sum.add(ExactNumber.of(summed(gone).toBytes), -1)
      assert(sum.toBytes sameElements summed(kept).toBytes, (kept, gone))
      kept.foreach(sum.add(_, -1))
      assert(sum.toBytes.isEmpty)
    }
  }

  test("numbers that are not finite are what they are in any sum") {
    def sum(numbers: Double*) = ExactNumber.of(summed(numbers).toBytes).toDouble
    assert(sum(1, Double.PositiveInfinity, -5) == Double.PositiveInfinity)
    assert(sum(1, Double.NegativeInfinity) == Double.NegativeInfinity)
    assert(sum(Double.PositiveInfinity, Double.NegativeInfinity).isNaN)
    assert(sum(1, Double.NaN).isNaN)
    assert(sum(Double.MaxValue, Double.MaxValue) == Double.PositiveInfinity)
    assert(sum(Double.MaxValue, Double.MaxValue, -Double.MaxValue) == Double.MaxValue)
  }

  test("many terms carry") {
    val sum = new ExactNumber
    for (_ <- 1 to 3000000) sum.add(0.1, 1)
    assert(sum.toDouble == new Decimal(0.1).multiply(new Decimal(3000000)).doubleValue)
    for (_ <- 1 to 60) sum.add(sum, 1)
    assert(sum.toDouble == new Decimal(0.1).multiply(new Decimal(3000000)).multiply(new Decimal(2).pow(60)).doubleValue)
  }

  test("a deviation is that of exact sums") {
    val random = new Random(9)
    for (n <- 1 to 1000) {
      val own = numbers(random, 1 + n % 20, odds = false).map(_ + (if (n % 2 == 0) 1e9 else 0))
      val mean = exactly(own).divide(new Decimal(own.size), 400, java.math.RoundingMode.HALF_EVEN)
      val expected = own.map(each => new Decimal(each).subtract(mean).pow(2)).foldLeft(Decimal.ZERO)(_.add(_)).doubleValue
      val found = ExactNumber.deviation(summed(own), ExactNumber.of(squared(own).toBytes), own.size)
      assert(math.abs(found - expected) <= math.ulp(expected), own)
    }
    assert(ExactNumber.deviation(summed(Seq(1e300, 1e300)), squared(Seq(1e300, 1e300)), 2) == 0.0)
    assert(ExactNumber.deviation(summed(Seq(Double.NaN)), squared(Seq(Double.NaN)), 1).isNaN)
  }
}
