package io.headwater.spark

import java.io.IOException

import org.apache.spark.SparkException
import org.apache.spark.sql.AnalysisException
import org.json4s._
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

/** Kinds of failures come from types and conditions. */
class FailuresSuite extends AnyFunSuite {
  private def kind(error: Throwable): String = {
    val JString(kind) = parse(Failures.of(LocalSpark.session.sparkContext, error)) \ "kind"
    kind
  }

  private def analysis(cause: Option[Throwable]) =
    new AnalysisException("_LEGACY_ERROR_TEMP_3065", Map("clazz" -> "HiveException", "msg" -> "no answer"), cause)

  test("an analysis error is the query's fault; around an error of the metastore it is not") {
    assert(kind(analysis(None)) == "analysis")
    assert(kind(analysis(Some(analysis(None)))) == "analysis")
    assert(kind(analysis(Some(new IOException("connection refused")))) == "other")
  }

  test("an output that is gone, a file that is gone, a file that cannot be written") {
    assert(kind(new SparkException("job aborted", new OverlayGone("rows"))) == "overlay_gone")
    val unread = new SparkException("FAILED_READ_FILE.NO_HINT", Map("path" -> s"${LocalSpark.warehouse}/no%20such"), null)
    assert(kind(new SparkException("job aborted", unread)) == "source_gone")
    assert(kind(new SparkException("job aborted", new IOException("any words in any language"))) == "unwritable")
  }

  test("a cancelled job; words of the user's own decide nothing") {
    assert(kind(new SparkException("SPARK_JOB_CANCELLED", Map("jobId" -> "1", "reason" -> ""), null)) == "cancelled")
    assert(kind(new RuntimeException("the job was cancelled: FILE_NOT_EXIST")) == "other")
  }

  test("the text of an error is one line") {
    assert(Failures.line(new IOException("first\nsecond")) == "IOException: first")
    assert(Failures.line(new IOException()) == "IOException")
  }
}
