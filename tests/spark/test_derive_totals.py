"""The queries that can be refreshed by changes, and the reason against each other one."""

from __future__ import annotations

from pyspark.sql import SparkSession
from support import database

from headwater.algebra.derive.totals import derive_totals
from headwater.model.dependency import Adding
from headwater.spark.jvm.shim import Shim

FOLLOWED = (
    "SELECT k, sum(x), avg(x), count(d), min(s), max(x) FROM t GROUP BY k",
    "SELECT count(*) FROM t",
    "SELECT k, count_if(x > 1), every(x > 1), bool_and(x > 1), some(x > 1) FROM t GROUP BY k",
    "SELECT k, any(x > 1), bool_or(x > 1) FROM t GROUP BY k",
    "SELECT k, bit_xor(id), mean(x) FROM t GROUP BY k",
    "SELECT k, count(DISTINCT d), count(DISTINCT x, s) FILTER (WHERE x > 1), sum(x), min(DISTINCT s) FROM t GROUP BY k",
    "SELECT sum(DISTINCT x), avg(DISTINCT x) FROM t",
    "SELECT k, count(*) FILTER (WHERE x > 1) FROM t WHERE s <> 'a' GROUP BY k HAVING sum(x) > 1",
    "SELECT u.s, sum(t.x) FROM t JOIN u ON t.k = u.k GROUP BY u.s",
    "SELECT t.k, count(u.k) FROM t LEFT JOIN u ON t.k = u.k AND u.k < 5 GROUP BY t.k",
    "SELECT k, count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k) GROUP BY k",
    "SELECT DISTINCT k, s FROM t",
    "SELECT k FROM t UNION SELECT x FROM u UNION SELECT 3 UNION ALL SELECT 4 UNION SELECT 5",
    "SELECT s, count(*) FROM (SELECT s FROM t INTERSECT SELECT s FROM u) GROUP BY s",
    "SELECT s FROM u EXCEPT (SELECT s FROM t INTERSECT (SELECT 'a' UNION SELECT 'b'))",
    "SELECT count(DISTINCT a.k), max(s) FROM (SELECT DISTINCT k FROM t) a LEFT JOIN u ON a.k = u.k",
    "SELECT k, s, count(*) FROM t GROUP BY ROLLUP (k, s)",
    "SELECT word, count(*) FROM t LATERAL VIEW explode(split(s, ' ')) AS word GROUP BY word",
    "SELECT k, rank() OVER (ORDER BY n) FROM (SELECT k, count(*) AS n FROM t GROUP BY k)",
    "SELECT k, sum(x) AS n FROM t GROUP BY k ORDER BY n DESC, k LIMIT 10",
    "SELECT n, count(*) FROM (SELECT k, count(*) AS n FROM t GROUP BY k) GROUP BY n",
    "WITH c AS (SELECT k, sum(x) AS s FROM t GROUP BY k) SELECT * FROM c WHERE s > 1",
    "SELECT k, sum(x) FROM t GROUP BY k HAVING sum(x) > (SELECT avg(x) FROM t)",
    "SELECT a.k, count(*) FROM t a JOIN t b ON a.k = b.k GROUP BY a.k",
    "SELECT k, count(*) FROM (SELECT k FROM t UNION ALL SELECT k FROM t) GROUP BY k",
    "SELECT u.k, count(t.k) FROM u LEFT JOIN t ON u.k = t.k GROUP BY u.k",
    "SELECT t.k, count(u.k) FROM t FULL JOIN u ON t.k = u.k AND t.x < u.x GROUP BY t.k",
    "SELECT u.k, count(*) FROM u LEFT ANTI JOIN t ON u.k = t.k GROUP BY u.k",
    "SELECT t.k, count(*) FROM t JOIN (SELECT max(x) AS m FROM t GROUP BY k) ON x = m GROUP BY t.k",
    "SELECT u.s, count(*) FROM (SELECT DISTINCT k FROM t) JOIN u USING (k) GROUP BY u.s",
    "SELECT s, count(*) FROM (SELECT s FROM t INTERSECT ALL SELECT s FROM u) GROUP BY s",
    "SELECT u.k, count(*) FROM u WHERE u.k IN (SELECT k FROM t) OR u.x > 3 GROUP BY u.k",
    "SELECT u.k, count(*) FROM u WHERE u.k NOT IN (SELECT k FROM t WHERE x > 1) GROUP BY u.k",
    "SELECT u.k, count(*) FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = u.k AND t.id <> u.x) GROUP BY u.k",
    "SELECT u.k, count(*) FROM u WHERE x > (SELECT avg(x) FROM t WHERE t.k = u.k AND t.s = u.s) GROUP BY u.k",
    "SELECT k, sum(n) FROM (SELECT k, (SELECT count(*) FROM t WHERE t.k = u.k) AS n FROM u) GROUP BY k",
    "SELECT u.k, count(*) FROM u WHERE u.k IN (SELECT k FROM t GROUP BY k HAVING sum(x) > 300) GROUP BY u.k",
    "SELECT u.k, t.x FROM u LEFT JOIN t ON u.k = t.k",
    "SELECT k, x FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.k = u.k) ORDER BY x",
    "WITH c AS (SELECT k, sum(x) AS s FROM t GROUP BY k) SELECT a.k FROM c a JOIN c b ON a.s = b.s",
    "SELECT k, x FROM u WHERE x = (SELECT min(x) FROM t WHERE t.k = u.k)",
    "WITH c AS (SELECT k, x FROM t) SELECT a.k, sum(b.x) FROM c a JOIN c b ON a.k = b.x GROUP BY a.k",
)

EXACT = (
    "SELECT k, sum(d), avg(d), mean(CAST(d AS FLOAT)), avg(id) FROM t GROUP BY k",
    "SELECT k, stddev(x), std(d), stddev_pop(d), variance(id), var_pop(d), var_samp(d) FROM t GROUP BY k",
    "SELECT k, min(d), max(DISTINCT CAST(d AS FLOAT)) FROM t GROUP BY k HAVING sum(d) > 1",
    "SELECT sum(d) FILTER (WHERE id > 1), count(DISTINCT k) FROM t",
)
"""Queries of views that ask for exact sums."""

REFUSED = {
    "SELECT k, sum(d) FROM t GROUP BY k": "the sum of a DOUBLE depends on the order of the rows",
    "SELECT k, avg(id) FROM t GROUP BY k": "the average of a BIGINT depends on the order of the rows",
    "SELECT k, max(d) FROM t GROUP BY k": "values of a DOUBLE may be equal and spelled differently",
    "SELECT d, count(*) FROM t GROUP BY d": "it groups by a DOUBLE",
    "SELECT k, try_sum(x) FROM t GROUP BY k": "is computed from all rows of a group",
    "SELECT k, try_avg(x) FROM t GROUP BY k": "is computed from all rows of a group",
    "SELECT k, count(DISTINCT s COLLATE UTF8_LCASE) FROM t GROUP BY k": "may be equal and spelled differently",
    "SELECT k, count(DISTINCT array(x)) FROM t GROUP BY k": "may be equal and spelled differently",
    "SELECT k, sum(DISTINCT d) FROM t GROUP BY k": "the sum of a DOUBLE depends on the order of the rows",
    "SELECT k, stddev(DISTINCT x) FROM t GROUP BY k": "is computed from all rows of a group",
    "SELECT k, stddev(x) FROM t GROUP BY k": "stddev of a DOUBLE depends on the order of the rows",
    "SELECT k, skewness(d) FROM t GROUP BY k": "skewness is computed from all rows of a group",
    "SELECT k, try_sum(d) FROM t GROUP BY k": "try_sum is computed from all rows of a group",
    "SELECT k, avg(DISTINCT id) FROM t GROUP BY k": "the average of a BIGINT depends on the order of the rows",
    "SELECT k, bit_or(id) FROM t GROUP BY k": "bit_or is computed from all rows of a group",
    "SELECT k, max_by(s, x) FROM t GROUP BY k": "max_by is computed from all rows of a group",
    "SELECT k, collect_list(x) FROM t GROUP BY k": "collect_list is computed from all rows of a group",
    "SELECT u.k, count(t.k) FROM u LEFT JOIN t ON u.k < t.k GROUP BY u.k": "no equality ties t",
    "SELECT u.k, count(t.k) FROM u LEFT JOIN t ON u.k = 1 GROUP BY u.k": "no equality ties t",
    "SELECT u.k, t.x FROM u LEFT JOIN t ON u.k < t.k": "no equality ties t",
    "SELECT k, x FROM t ORDER BY x LIMIT 3": "takes several rows of t together",
    "SELECT u.k FROM u JOIN (SELECT k, sum(d) AS d FROM t GROUP BY k) v ON u.k = v.k": "sum may have another value",
    "SELECT k FROM u WHERE x > (SELECT max(x) FROM t)": "a subquery reads t",
    "SELECT w.k, count(t.k) FROM (SELECT k FROM u LIMIT 3) w LEFT JOIN t USING (k) GROUP BY w.k": "Limit may",
    "SELECT w.k, count(t.k) FROM (SELECT k, max(CAST(x AS DOUBLE)) AS m FROM u GROUP BY k) w LEFT JOIN t ON w.k = t.k "
    "GROUP BY w.k": "max may have another value",
    "SELECT u.k, count(*) FROM u WHERE EXISTS (SELECT 1 FROM t) GROUP BY u.k": "a subquery reads t",
    "SELECT u.k, count(*) FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.k > u.k) GROUP BY u.k": "no equality ties t",
    "SELECT u.k, count(*) FROM u WHERE k NOT IN (SELECT max(k) FROM t) GROUP BY u.k": "Aggregate takes several",
    "SELECT u.k, count(*) FROM u WHERE x > (SELECT avg(d) FROM t WHERE t.k = u.k) GROUP BY u.k": "avg may have another",
    "SELECT u.k, count(*) FROM u WHERE k IN (SELECT k FROM t ORDER BY id LIMIT 3) GROUP BY u.k": "Limit may make other",
    "SELECT k, count(*) FROM t WHERE x > (SELECT avg(x) FROM t) GROUP BY k": "a subquery reads t",
    "SELECT u.s, count(*) FROM u JOIN f ON u.k = f.k AND u.x NOT IN (SELECT k FROM t) GROUP BY u.s": "a subquery reads",
    "SELECT s, count(*) FROM u WHERE NOT (k IN (SELECT k FROM t) OR x > 5) GROUP BY s": "a subquery reads t",
    "SELECT s, count(*) FROM u WHERE NOT (k IN (SELECT k FROM t) AND x > 5) GROUP BY s": "a subquery reads t",
    "SELECT s, count(*) FROM (SELECT s, k IN (SELECT k FROM t) AS f FROM u) WHERE NOT f GROUP BY s": "a subquery reads",
    "SELECT s, count(*) FROM u WHERE (SELECT count_if(x > 1) FROM t WHERE t.k = u.k) = 0 GROUP BY s": "a subquery",
    "SELECT s, sum(n) FROM (SELECT s, (SELECT count_if(id > 1) FROM t WHERE t.k = u.k) AS n FROM u) GROUP BY s": "a "
    "subquery reads t",
    "SELECT s, count(*) FROM (SELECT s, rank() OVER (ORDER BY x) FROM t) GROUP BY s": "Window",
    "SELECT k, count(DISTINCT d) FROM (SELECT DISTINCT k, d FROM t) GROUP BY k": "it groups by a DOUBLE",
    "SELECT count(*) FROM u JOIN (SELECT max(x) AS m FROM t) ON u.x = m": "Aggregate takes several rows of t together",
    "SELECT u.s, count(*) FROM (SELECT DISTINCT d FROM t) JOIN u ON k = d GROUP BY u.s": "put together below its "
    "aggregate by a DOUBLE",
    "SELECT s, count(*) FROM (SELECT s FROM t LIMIT 3) GROUP BY s": "takes several rows of t together",
    "SELECT d FROM t EXCEPT SELECT x FROM u": "it groups by a DOUBLE",
    "SELECT k, sum((SELECT max(x) FROM u)) FROM t GROUP BY k": "its aggregate has a subquery",
    "SELECT k, count(_metadata.file_path) FROM t GROUP BY k": "the query reads",
}


def test_each_query_has_totals_or_says_why_not(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t (id BIGINT, k INT, s STRING, x DECIMAL(9, 2), d DOUBLE) USING delta")
    spark.sql("CREATE TABLE u (k INT, s STRING, x INT) USING delta")
    spark.sql("CREATE TABLE f (k INT, p INT) USING parquet PARTITIONED BY (p)")

    def adding(query: str, table: str, exact: bool = False) -> Adding:
        found = Shim(spark).describe(spark, query)
        return derive_totals(found.plan, found.joined, exact)[f"{database(spark)}.{table}"]

    assert not {query: found.reason for query in FOLLOWED if not (found := adding(query, "t")).possible}
    assert not {query: found.reason for query in EXACT if not (found := adding(query, "t", exact=True)).possible}
    says_how = "'headwater.floating_point' = 'exact'"
    assert not [query for query in EXACT if says_how not in str(adding(query, "t").reason)]
    still = [query for query in REFUSED if "DISTINCT" in query or "GROUP BY d" in query or "skewness" in query]
    assert not [query for query in still if adding(query, "t", exact=True).possible]
    refused = {query: adding(query, "t") for query in REFUSED}
    assert not {query: each.reason for query, each in refused.items() if REFUSED[query] not in str(each.reason)}
    of_files = "SELECT k, count(*) FROM f JOIN t USING (k) GROUP BY k"
    assert adding(of_files, "t").possible and "without a record of changed rows" in str(adding(of_files, "f").reason)
