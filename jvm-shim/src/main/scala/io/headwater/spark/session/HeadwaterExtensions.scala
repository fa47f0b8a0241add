package io.headwater.spark

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.headwater.{DaysOfTexts, TalliedStrategy, WatchedProcedures}

/**
 * What Headwater adds to a Spark session. Named in `spark.sql.extensions`; nothing else is needed.
 */
class HeadwaterExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser((_, spark) => new StatementParser(spark))
    extensions.injectPostHocResolutionRule(session => TakeOverCreate(session))
    extensions.injectPostHocResolutionRule(session => AskEngine(session)) // after the one that makes statements of creations
    extensions.injectPostHocResolutionRule(session => DirectWriteRule(session))
    extensions.injectPostHocResolutionRule(session => UncachedFiles(session))
    extensions.injectPostHocResolutionRule(session => FilesInDriver(session))
    extensions.injectHintResolutionRule(session => PublishedSnapshot(session)) // the next one puts relations out of sight
    extensions.injectHintResolutionRule(session => VersionAsOf(session))
    extensions.injectHintResolutionRule(session => PinnedSnapshots(session))
    extensions.injectHintResolutionRule(session => ConsistentReads(session))
    extensions.injectHintResolutionRule(session => WatchedProcedures(session))
    extensions.injectResolutionRule(session => PublishedRelation(session))
    extensions.injectResolutionRule(session => Overlay(session))
    extensions.injectCheckRule(session => DirectWriteGuard(session))
    extensions.injectPreCBORule(_ => DaysOfTexts)
    extensions.injectColumnar(session => WaitForViews(session))
    extensions.injectPlannerStrategy(session => TalliedStrategy(session))
    Classes.loaded
    Application.watch()
  }
}
