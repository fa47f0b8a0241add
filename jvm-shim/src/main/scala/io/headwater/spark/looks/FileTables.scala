package io.headwater.spark

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.headwater.Access

/** Tables and ordinary views of the session catalog: their rows are in the files that a listing finds. */
private[spark] object FileTables extends ViewFormat {
  override val name = "files"

  override def identify(known: Lookup, name: Name): Boolean = name.isInstanceOf[TableName]

  override def look(session: SparkSession, known: Lookup, asked: Asked): Looked =
    known(identifier(Names.named(asked.table))).fold[Looked](Missing(asked.table)) { meta =>
      val isView = meta.tableType == CatalogTableType.VIEW
      val found = Fact(
        asked.table,
        kind = if (isView) "view" else "table",
        created = meta.createTime,
        schema = (Seq(meta.schema.json) ++ meta.viewText ++ Option.when(isView)(Meant.digest(meta)) ++ format(session, meta))
          .mkString(" "),
        location = meta.storage.locationUri.map(uri => new Path(uri).toString),
        properties = Tables.own(meta.properties))
      if (isView) found else contents(session, meta, asked, found)
    }

  /** To have Spark refresh a table means to analyse it first, which is needed only for what it caches. */
  override def renew(session: SparkSession, name: Name): Unit = {
    val (classic, table) = (Access.classic(session), identifier(name))
    if (LakeTables.mixes(session)) LakeTables.renew(session, name) // a lake table had the name, and that catalog keeps it
    val known = classic.sessionState.catalog
    // Where nothing is cached, or there is no such table, only the session's own entry goes.
    if (classic.sharedState.cacheManager.isEmpty || !known.tableExists(table)) known.refreshTable(table)
    else UncachedFiles.asUsersDo(classic.catalog.refreshTable(table.quotedString))
  }

  override def publish(session: SparkSession, request: PublicationRequest): PublicationAnswer = {
    val answer = Publication.moved(session, request)
    renew(session, Names.named(request.table))
    answer
  }

  override def expire(session: SparkSession, root: String, owner: String, places: Seq[String]): Unit =
    Roots.delete(session, root, owner, places)

  /** What a table is made of: another format is not read, or not followed, as the one before. */
  private def format(session: SparkSession, meta: CatalogTable): Option[String] =
    meta.storage.locationUri.flatMap(uri => FileFormats.owned(session, new Path(uri))).orElse(meta.provider)

  private def contents(session: SparkSession, meta: CatalogTable, asked: Asked, found: Fact): Fact = {
    val columns = meta.partitionSchema.fields.toSeq.map(field => NamedType(field.name, field.dataType.sql))
    val root = meta.storage.locationUri.map(new Path(_))
    val streamed = if (isHive(meta)) None else root.flatMap(Sinks.files(session, _, Some(meta.schema)))
    val partitions = new Partitions(session, meta)
    lazy val files = streamed.orElse(root.map(Files.of(session, _))).getOrElse(Nil)
    val how = Reading.of(meta)
    val there = streamed match {
      case Some(logged) => partitions.streamed(root.get, logged, asked)
      case None if meta.partitionColumnNames.nonEmpty && inCatalog(meta) => partitions.state(asked)
      case None if isHive(meta) => Listed.whole(root.fold(Files.state(session, None))(Sinks.stateOfHive(session, _)))
      case None => Listed.whole(Files.described(root, files))
    }
    val listed = there.copy(partitions = Files.placed(session, there.partitions.map(_.read(how))))
    val seen = found.copy(
      partition_columns = columns, asked = listed.asked, whole = listed.whole, partitions = listed.partitions)
    FileSnapshots.ordered(meta, files) match {
      case Some(all) => seen.copy(
          snapshot = FileSnapshots.of(all, how), readable = true,
          added = FileSnapshots.at(all, how, asked.since).map(before => all.drop(before.size).map(_._2.getLen).sum))
      case None => seen.copy(snapshot = if (listed.whole) Files.snapshot(listed.partitions) else "")
    }
  }

  private def inCatalog(meta: CatalogTable): Boolean = meta.tracksPartitionsInCatalog || isHive(meta)

  private def isHive(meta: CatalogTable): Boolean = meta.provider.contains("hive")

  private def identifier(name: Name): TableIdentifier = name match {
    case table: TableName if table.identifier.nonEmpty => table.identifier.get
    case other => throw new IllegalArgumentException(s"not a table of the session catalog: $other")
  }
}
