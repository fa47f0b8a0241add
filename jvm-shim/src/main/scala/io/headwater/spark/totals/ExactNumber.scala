package io.headwater.spark

import java.math.BigInteger
import java.nio.ByteBuffer

/**
 * A sum of numbers in floating point without any rounding. So it does not depend on the order of its terms, and a term that
 * is taken away leaves nothing.
 *
 * The sum is kept in fixed point, in chunks of 32 bits of which each may carry (Kulisch, "Computer Arithmetic and Validity",
 * 2008, §8: a long accumulator). Only the chunks that some term reached are there.
 */
private[spark] final class ExactNumber {
  import ExactNumber._

  private var low = 0
  private var chunks = Array.empty[Long]
  private var uncarried = 0
  private var (nan, positive, negative) = (0L, 0L, 0L)

  /** Adds a number so many times: once, or minus once. */
  def add(value: Double, times: Int): Unit =
    if (isFinite(value)) add(times * mantissa(value), exponentOf(value)) else count(value, times)

  /** Adds the square of a number, likewise. */
  def addSquare(value: Double, times: Int): Unit =
    if (isFinite(value)) {
      val size = math.abs(mantissa(value))
      val exponent = exponentOf(value)
      val high = size >>> Half
      val rest = size & ((1L << Half) - 1)
      add(times * high * high, 2 * exponent + 2 * Half)
      add(times * high * rest, 2 * exponent + Half + 1)
      add(times * rest * rest, 2 * exponent)
    } else count(value * value, times)

  /** Adds another sum, likewise. */
  def add(other: ExactNumber, times: Int): Unit = {
    nan += times * other.nan
    positive += times * other.positive
    negative += times * other.negative
    other.carry()
    val known = other.chunks
    known.indices.foreach(n => at(other.low + n, times * known(n)))
    added()
  }

  /** The sum, rounded once to the nearest number, of two to the even one. */
  def toDouble: Double =
    if (nan != 0 || (positive != 0 && negative != 0)) Double.NaN
    else if (positive != 0) Double.PositiveInfinity
    else if (negative != 0) Double.NegativeInfinity
    else rounded(unscaled, exponent)

  /** The bytes of the sum, without those that are zero at its ends: equal sums have equal bytes. */
  def toBytes: Array[Byte] = {
    val (sum, first) = trimmed
    val bytes = if (sum.signum == 0) Array.empty[Byte] else sum.toByteArray
    if (bytes.isEmpty && !isOdd) bytes else {
      val out = ByteBuffer.allocate(2 + (if (isOdd) 3 * 8 else 0) + bytes.length)
      out.putShort((if (isOdd) first | Odd else first).toShort)
      if (isOdd) out.putLong(nan).putLong(positive).putLong(negative)
      out.put(bytes).array
    }
  }

  /** Whether some term is infinite or no number. */
  private def isOdd: Boolean = nan != 0 || positive != 0 || negative != 0

  private def unscaled: BigInteger = {
    carry()
    chunks.foldRight(BigInteger.ZERO)((chunk, above) => above.shiftLeft(Bits).add(BigInteger.valueOf(chunk)))
  }

  private def exponent: Int = Bits * low - Point

  private def trimmed: (BigInteger, Int) = unscaled match {
    case none if none.signum == 0 => (none, 0)
    case sum =>
      val zeros = sum.getLowestSetBit / Bits
      (sum.shiftRight(zeros * Bits), low + zeros)
  }

  private def count(value: Double, times: Int): Unit =
    if (value.isNaN) nan += times else if (value > 0) positive += times else negative += times

  /** Adds a number of at most 62 bits. */
  private def add(signed: Long, exponent: Int): Unit = if (signed != 0) {
    val size = math.abs(signed)
    val position = exponent + Point
    val shift = position % Bits
    reach(position / Bits, position / Bits + 2)
    val n = position / Bits - low
    val sign = if (signed > 0) 1 else -1
    chunks(n) += sign * ((size << shift) & Mask)
    chunks(n + 1) += sign * ((size >>> (Bits - shift)) & Mask)
    if (shift > 0) chunks(n + 2) += sign * (size >>> (2 * Bits - shift))
    added()
  }

  /** Adds to the chunk of a place. */
  private def at(place: Int, value: Long): Unit = {
    reach(place, place)
    chunks(place - low) += value
  }

  /** Makes chunks of these places, where there are none. */
  private def reach(first: Int, last: Int): Unit = {
    if (chunks.isEmpty) low = first
    if (first < low) {
      chunks = new Array[Long](low - first) ++ chunks
      low = first
    }
    if (last >= low + chunks.length) chunks = chunks.padTo(last - low + 1, 0L)
  }

  private def added(): Unit = {
    uncarried += 1
    if (uncarried == MostUncarried) carry()
  }

  /** Leaves each chunk but the last one between zero and its bits. */
  private def carry(): Unit = {
    var n = 0
    while (n < chunks.length) {
      val over = chunks(n) >> Bits
      if (over != 0 && (n + 1 < chunks.length || over != -1)) {
        chunks(n) &= Mask
        at(low + n + 1, over)
      }
      n += 1
    }
    uncarried = 0
  }
}

private[spark] object ExactNumber {
  private val Bits = 32
  private val Mask = (1L << Bits) - 1

  /** The bits behind the point: the square of the least number is 2 to the minus 2148. */
  private val Point = 68 * Bits

  /** Half the bits of a mantissa, at most. */
  private val Half = 27

  /** A chunk takes so many terms of 33 bits with their sign before it carries. */
  private val MostUncarried = 1 << 28

  /** Marks bytes with counts of infinite numbers and of those that are none. */
  private val Odd = 1 << 14

  def of(bytes: Array[Byte]): ExactNumber = {
    val made = new ExactNumber
    if (bytes.nonEmpty) {
      val in = ByteBuffer.wrap(bytes)
      val first = in.getShort.toInt
      if ((first & Odd) != 0) {
        made.nan = in.getLong
        made.positive = in.getLong
        made.negative = in.getLong
      }
      val own = new Array[Byte](in.remaining)
      in.get(own)
      if (own.nonEmpty) {
        val sum = new BigInteger(own)
        made.low = first & ~Odd
        made.chunks = Array.tabulate(sum.bitLength / Bits + 1) { n => sum.shiftRight(n * Bits).longValue & Mask }
        if (sum.signum < 0) made.chunks(made.chunks.length - 1) -= 1L << Bits
      }
    }
    made
  }

  /**
   * The sum of the squares of so many numbers' distances from their mean. It is rounded twice.
   * @param sum of the numbers
   * @param squares the sum of their squares
   */
  def deviation(sum: ExactNumber, squares: ExactNumber, count: Long): Double =
    if (count == 0 || sum.isOdd || squares.isOdd) Double.NaN else {
      val (left, right) = (squares.unscaled.multiply(BigInteger.valueOf(count)), sum.unscaled.pow(2))
      val (leftAt, rightAt) = (squares.exponent, 2 * sum.exponent)
      val at = math.min(leftAt, rightAt)
      val times = left.shiftLeft(leftAt - at).subtract(right.shiftLeft(rightAt - at))
      // A quotient of 64 bits and more: what is left of it decides nothing.
      val spare = 2 * Bits + 64
      rounded(times.shiftLeft(spare).divide(BigInteger.valueOf(count)), at - spare)
    }

  private def isFinite(value: Double): Boolean = !value.isNaN && !value.isInfinite

  /** The whole number of at most 53 bits with its sign that a finite number is, times a power of two. */
  private def mantissa(value: Double): Long = {
    val bits = java.lang.Double.doubleToRawLongBits(value)
    val fraction = bits & ((1L << 52) - 1)
    val size = if (biased(bits) == 0) fraction else fraction | (1L << 52)
    if (bits < 0) -size else size
  }

  /** The exponent of that power. */
  private def exponentOf(value: Double): Int = math.max(biased(java.lang.Double.doubleToRawLongBits(value)), 1) - 1075

  private def biased(bits: Long): Int = ((bits >>> 52) & 0x7ff).toInt

  /** A number times a power of two, rounded to the nearest. */
  private def rounded(number: BigInteger, exponent: Int): Double = {
    val size = number.abs
    val shift = math.max(0, size.bitLength - 64)
    val top = size.shiftRight(shift)
    // What is cut off only tells that the number is not right between two.
    val told = if (shift > 0 && size.getLowestSetBit < shift) top.setBit(0) else top
    number.signum * Math.scalb(told.doubleValue, exponent + shift)
  }
}
