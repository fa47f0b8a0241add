package io.headwater.spark

import java.io.IOException

import org.apache.spark.SparkException
import org.apache.spark.sql.AnalysisException
import org.json4s._
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

/** Kinds of failures come from types and conditions. */
class FailuresSuite extends AnyFunSuite {
  private def told(error: Throwable): String = {
    val JString(kind) = parse(Failures.told(LocalSpark.session.sparkContext, error)) \ "kind"
    kind
  }

  private def analysis(cause: Option[Throwable]) =
    new AnalysisException("_LEGACY_ERROR_TEMP_3065", Map("clazz" -> "HiveException", "msg" -> "no answer"), cause)

  test("an analysis error is the query's fault; around an error of the metastore it is not") {
    assert(told(analysis(None)) == "analysis")
    assert(told(analysis(Some(analysis(None)))) == "analysis")
    assert(told(analysis(Some(new IOException("connection refused")))) == "other")
  }

  test("an output that is gone, a file that is gone, a file that cannot be written") {
    assert(told(new SparkException("job aborted", new OverlayGone("rows"))) == "overlay_gone")
    val unread = new SparkException("FAILED_READ_FILE.NO_HINT", Map("path" -> s"${LocalSpark.warehouse}/no%20such"), null)
    assert(told(new SparkException("job aborted", unread)) == "source_gone")
    assert(told(new SparkException("job aborted", new IOException("any words in any language"))) == "unwritable")
  }

  test("a cancelled job; words of the user's own decide nothing") {
    assert(told(new SparkException("SPARK_JOB_CANCELLED", Map("jobId" -> "1", "reason" -> ""), null)) == "cancelled")
    assert(told(new RuntimeException("the job was cancelled: FILE_NOT_EXIST")) == "other")
  }

  test("what is said is one line") {
    assert(Failures.said(new IOException("first\nsecond")) == "IOException: first")
    assert(Failures.said(new IOException()) == "IOException")
  }
}
