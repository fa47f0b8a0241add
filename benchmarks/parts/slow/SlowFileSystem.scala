package io.headwater.benchmarks

import java.io.{InputStream, OutputStream}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission

/**
 * The local file system under the scheme `slow:`, at the speed of a remote one: all streams of a process
 * share its bandwidth, one way and the other, and sleep until their bytes are through; each opening takes
 * a fixed time. For measurements only.
 *
 * Settings: `fs.slow.read` and `fs.slow.write` in bytes a second, `fs.slow.open.millis`.
 */
class SlowFileSystem extends RawLocalFileSystem {
  private var (read, write, open) = (0.0, 0.0, 0L)

  override def getScheme: String = "slow"
  override def getUri: java.net.URI = java.net.URI.create("slow:///")

  override def initialize(uri: java.net.URI, conf: Configuration): Unit = {
    super.initialize(uri, conf)
    read = conf.getDouble("fs.slow.read", 0)
    write = conf.getDouble("fs.slow.write", 0)
    open = conf.getLong("fs.slow.open.millis", 0)
  }

  override def open(path: Path, buffer: Int): FSDataInputStream = {
    Thread.sleep(open)
    new FSDataInputStream(new Paced(super.open(path, buffer), new Pace(Link.in, read)))
  }

  /** All ways to create a file lead here, and not all of them through one of the others. */
  override protected def createOutputStreamWithMode(
      path: Path, append: Boolean, permission: FsPermission): OutputStream = {
    Thread.sleep(open)
    new PacedOutput(super.createOutputStreamWithMode(path, append, permission), new Pace(Link.out, write))
  }
}

/** One way to the storage, through which bytes go one after the other. */
private class Link {
  private var free = 0L

  /**
   * When bytes are through that take so long.
   *
   * @param late nanoseconds by which who sends them was woken too late: if nobody else sent any meanwhile, they set out then
   */
  def through(nanos: Long, late: Long): Long = synchronized {
    free = math.max(free, System.nanoTime - late) + nanos
    free
  }
}

private object Link {
  val (in, out) = (new Link, new Link)
}

/**
 * Sends a stream's bytes through a link, some milliseconds' worth at a time, and sleeps until they are through. However many
 * are sent at once, other streams get through between: a large read holds up a small one no longer than a network would.
 */
private class Pace(link: Link, rate: Double) {
  private var owed = 0.0
  private var late = 0L

  def pay(bytes: Int): Unit = if (rate > 0 && bytes > 0) {
    owed += bytes / rate * 1e9
    while (owed > Pace.Nanos) settle(Pace.Nanos)
  }

  def settle(): Unit = if (owed > 0) settle(owed.toLong)

  private def settle(nanos: Long): Unit = {
    owed -= nanos
    val through = link.through(nanos, late)
    val wait = math.max(0, through - System.nanoTime)
    Thread.sleep(wait / 1000000, (wait % 1000000).toInt)
    late = math.max(0, System.nanoTime - through)
  }
}

private object Pace {
  val Nanos = 5000000L
}

private class Paced(in: FSDataInputStream, pace: Pace) extends InputStream with Seekable with PositionedReadable {
  private def paid(bytes: Int): Int = { pace.pay(bytes); bytes }
  override def read(): Int = { val byte = in.read(); pace.pay(if (byte < 0) 0 else 1); byte }
  override def read(bytes: Array[Byte], offset: Int, length: Int): Int = paid(in.read(bytes, offset, length))
  override def read(position: Long, bytes: Array[Byte], offset: Int, length: Int): Int =
    paid(in.read(position, bytes, offset, length))
  override def readFully(position: Long, bytes: Array[Byte], offset: Int, length: Int): Unit = {
    in.readFully(position, bytes, offset, length)
    pace.pay(length)
  }
  override def readFully(position: Long, bytes: Array[Byte]): Unit = readFully(position, bytes, 0, bytes.length)
  override def seek(position: Long): Unit = in.seek(position)
  override def getPos: Long = in.getPos
  override def seekToNewSource(position: Long): Boolean = in.seekToNewSource(position)
  override def close(): Unit = { pace.settle(); in.close() }
}

private class PacedOutput(out: OutputStream, pace: Pace) extends OutputStream {
  override def write(byte: Int): Unit = { out.write(byte); pace.pay(1) }
  override def write(bytes: Array[Byte], offset: Int, length: Int): Unit = {
    out.write(bytes, offset, length)
    pace.pay(length)
  }
  override def flush(): Unit = out.flush()
  override def close(): Unit = { pace.settle(); out.close() }
}
