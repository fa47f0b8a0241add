// For Scala developers and for publishing the jar. Users need none of this: `headwater jar` compiles the
// same sources with the Scala compiler that PySpark carries (python/headwater/spark/jvm/jar.py).

ThisBuild / organization := "io.headwater"
ThisBuild / version := "0.1.0" // as in pyproject.toml
ThisBuild / scalaVersion := "2.13.17" // Spark's own

// The oldest Spark of the line that pyproject.toml allows; another with -Dspark.version=4.1.x. With
// -Dspark.home=<dir> its jars are used instead of downloads: the installed PySpark, for one.
val spark = sys.props.getOrElse("spark.version", "4.1.0")
val sparkHome = sys.props.get("spark.home").map(file)
val scalaTest = "3.2.19" // as in tests/spark/test_scala.py, which runs the same suites without sbt

// What Spark's launcher opens for Java 17 (org.apache.spark.launcher.JavaModuleOptions).
val opened = Seq(
  "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
  "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action",
  "sun.util.calendar")

val ofSpark = Seq(
  libraryDependencies ++= (if (sparkHome.isDefined) Nil else Seq("spark-sql", "spark-hive"))
    .map("org.apache.spark" %% _ % spark % Provided),
  Compile / unmanagedJars ++= sparkHome.toSeq.flatMap(home => (home / "jars" * "*.jar").classpath))

lazy val shim = (project in file("."))
  .settings(ofSpark)
  .settings(
    name := "headwater-spark",
    Compile / scalaSource := baseDirectory.value / "jvm-shim" / "src" / "main" / "scala",
    Compile / resourceDirectory := baseDirectory.value / "jvm-shim" / "src" / "main" / "resources",
    Test / scalaSource := baseDirectory.value / "jvm-shim" / "src" / "test" / "scala",
    scalacOptions ++= Seq("-deprecation", "-feature", "-release:17"),
    libraryDependencies += "org.scalatest" %% "scalatest-funsuite" % scalaTest % Test,
    // The suites start a SparkSession and read tests/golden, so: a JVM of their own, one suite at a time, at the root.
    Test / fork := true,
    Test / parallelExecution := false,
    Test / baseDirectory := baseDirectory.value,
    Test / javaOptions ++= "-Xmx1g" +: "-XX:+IgnoreUnrecognizedVMOptions" +:
      opened.map(each => s"--add-opens=java.base/$each=ALL-UNNAMED"),
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oD"))

// The Java that calls Delta and Iceberg. The driver compiles it, against the formats that it has (looks/Compiled.scala);
// `formats/compile` is for an IDE, and takes the versions of tests/spark/fetched.py.
lazy val formats = (project in file("jvm-shim/formats"))
  .settings(ofSpark)
  .settings(
    publish / skip := true,
    Compile / javaSource := (ThisBuild / baseDirectory).value / "jvm-shim" / "src" / "main" / "resources" / "headwater",
    libraryDependencies ++= Seq(
      "io.delta" % "delta-spark_4.1_2.13" % "4.4.0" % Provided,
      "org.apache.iceberg" % "iceberg-spark-runtime-4.1_2.13" % "1.12.0" % Provided))
