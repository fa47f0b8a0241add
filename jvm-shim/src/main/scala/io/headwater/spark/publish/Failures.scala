package io.headwater.spark

import java.io.IOException
import java.net.URI

import scala.util.Try

import org.apache.hadoop.fs.{FSError, Path}
import org.apache.spark.{SparkContext, SparkThrowable}
import org.apache.spark.sql.AnalysisException

/** Something that a query reads in place of a table's files is not there any more. */
class OverlayGone(text: String) extends java.io.FileNotFoundException(text)

/** The kind of a failure, and one line for a person. */
final case class Failure(kind: String, text: String)

/** What went wrong, by the types of exceptions and the conditions that Spark gives them, never by their texts. */
object Failures {
  private val Cancelled = Set("SPARK_JOB_CANCELLED", "OPERATION_CANCELED")
  private val Unread = "FAILED_READ_FILE"

  /**
   * @return [[Failure]] as JSON. The kind is `stopped` (the application), `cancelled`, `overlay_gone`, `source_gone` (a file that
   *   was to be read), `unwritable`, `analysis` (the query is at fault) or `other`
   */
  def of(context: SparkContext, error: Throwable): String = {
    val causes = chain(error)
    val (kind, shown) =
      if (context.isStopped) "stopped" -> error
      else if (causes.exists(condition(_).exists(Cancelled))) "cancelled" -> error
      else if (causes.exists(_.isInstanceOf[OverlayGone])) "overlay_gone" -> error
      else if (causes.exists(_.isInstanceOf[FilesGone])) "source_gone" -> error
      else if (causes.exists(isUnread)) (if (causes.exists(isGone(context, _))) "source_gone" else "other") -> error
      else if (isOfAnalysis(error)) (if (causes.forall(isOfAnalysis)) "analysis" else "other") -> error
      else if (causes.exists(isOfFiles)) "unwritable" -> causes.filter(isOfFiles).last
      else "other" -> error
    Wire.encode(Failure(kind, if (kind == "unwritable") line(shown) else rooted(shown)))
  }

  /**
   * One line for a person about the cause of a failure. Spark wraps an error once for each layer that it passes, such as
   * `TASK_WRITE_FAILED` around `DIVIDE_BY_ZERO`. The innermost condition that Spark names says most. What raised it, such as
   * an exception of a user's function, follows.
   */
  private def rooted(error: Throwable): String = {
    val causes = chain(error)
    causes.lastIndexWhere(condition(_).nonEmpty) match {
      case -1 => line(error)
      case at =>
        val root = causes.last
        val (shown, cause) = (line(causes(at)), line(root))
        if ((root eq causes(at)) || shown.contains(cause)) shown else s"$shown; caused by $cause"
    }
  }

  /** One line for a person: with the class, unless Spark wrote the message for people; of `raise_error` its own words. */
  def line(error: Throwable): String = {
    val text = raised(error).orElse(Option(error.getMessage)).getOrElse("").trim
    val first = text.linesIterator.nextOption().getOrElse("").take(500)
    if (first.isEmpty) error.getClass.getSimpleName
    else if (condition(error).nonEmpty) first
    else s"${error.getClass.getSimpleName}: $first"
  }

  /** Spark wraps the metastore's own errors into this class, too: their cause is something else. */
  private def isOfAnalysis(error: Throwable): Boolean = error.isInstanceOf[AnalysisException]

  private def isUnread(error: Throwable): Boolean = condition(error).exists(_.startsWith(Unread))

  /** Spark says so, unless the file went between two steps of opening it. */
  private def isGone(context: SparkContext, error: Throwable): Boolean = error match {
    case spark: SparkThrowable if isUnread(error) =>
      spark.getCondition == s"$Unread.FILE_NOT_EXIST" || Try {
        val file = new Path(new URI(spark.getMessageParameters.get("path")))
        !file.getFileSystem(context.hadoopConfiguration).exists(file)
      }.getOrElse(false)
    case _ => false
  }

  /** A file that cannot be read is found otherwise (`isUnread`), so this is of one to be written. */
  private def isOfFiles(error: Throwable): Boolean =
    error.isInstanceOf[IOException] || error.isInstanceOf[FSError]

  private def raised(error: Throwable): Option[String] = error match {
    case spark: SparkThrowable if spark.getCondition == "USER_RAISED_EXCEPTION" =>
      Option(spark.getMessageParameters.get("errorMessage"))
    case _ => None
  }

  private def condition(error: Throwable): Option[String] = error match {
    case spark: SparkThrowable => Option(spark.getCondition)
    case _ => None
  }

  private def chain(error: Throwable): Seq[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(50).toSeq
}
