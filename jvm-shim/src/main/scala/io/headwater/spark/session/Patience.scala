package io.headwater.spark

/**
 * How long an application waits before it starts the next engine in the background: a minute, twice as long after each
 * engine, an hour at most. An engine that worked for ten minutes was no failed start: then it is a minute again.
 */
private[spark] final class Patience {
  import Patience._

  private var next = FirstMillis

  /**
   * The wait from now on, as an engine is started.
   *
   * @param workedMillis how long the one before it worked; none if there was none
   */
  def waitMillis(workedMillis: Option[Long]): Long = {
    if (workedMillis.exists(_ >= SteadyMillis)) next = FirstMillis
    val now = next
    next = (next * 2).min(LastMillis)
    now
  }
}

private[spark] object Patience {
  val FirstMillis = 60000L
  val LastMillis = 3600000L
  val SteadyMillis = 600000L
}
