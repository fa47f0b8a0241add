package org.apache.spark.sql.headwater

import java.time.ZoneOffset

import scala.util.Try

import io.headwater.spark.Internal
import org.apache.spark.SparkRuntimeException
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.DateTimeUtils.{parseTimestampString, stringToTimestamp}
import org.apache.spark.sql.types.{StringType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Lets a refresh fail where a column of strings is cast to a moment and holds a time without a day: Spark takes the day of
 * the run, so the row would be another one tomorrow. Constants of a query are refused before (`ParsedAway`).
 */
object DaysOfTexts extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!Internal.is(conf)) plan
    else plan.transformAllExpressions {
      case cast @ Cast(text, TimestampType, _, _) if text.dataType.isInstanceOf[StringType] && !text.foldable && !isChecked(text) =>
        cast.withNewChildren(Seq(StaticInvoke(Days.getClass, text.dataType, "checked", Seq(text))))
    }

  private def isChecked(text: Expression): Boolean = text match {
    case call: StaticInvoke => call.staticObject == Days.getClass
    case _ => false
  }
}

object Days {

  /** The text, if it is none of a time without a day. */
  def checked(text: UTF8String): UTF8String =
    if (!mayBeTime(text) || !isTime(text)) text
    else throw new SparkRuntimeException("USER_RAISED_EXCEPTION", Map("errorMessage" ->
      (s"the text '$text' has a time and no day, so Spark takes the day of the run for it; write its day, or read it by a " +
        "pattern, as in to_timestamp(x, 'HH:mm:ss')")))

  /** Whether a text is a time without a day. */
  def isTime(text: UTF8String): Boolean =
    Try(parseTimestampString(text)._3).getOrElse(false) && stringToTimestamp(text, ZoneOffset.UTC).nonEmpty

  /** Whether a text begins as a time does, with an hour and a colon or with a `T`. The days of most texts end the search. */
  private def mayBeTime(text: UTF8String): Boolean = {
    var at = 0
    while (at < text.numBytes && text.getByte(at) <= ' ') at += 1
    if (at < text.numBytes && text.getByte(at) == 'T') return true
    while (at < text.numBytes && Character.isDigit(text.getByte(at))) at += 1
    at < text.numBytes && text.getByte(at) == ':'
  }
}
