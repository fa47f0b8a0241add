"""TPC-H: queries that are views here, and changes of the tables like those of its refresh functions.

A query that ends with ``ORDER BY`` and a limit has neither: a view has no order.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REVENUE = "l_extendedprice * (1 - l_discount)"

QUERIES = {
    "q01": "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price, "
    f"sum({REVENUE}) AS sum_disc_price, sum({REVENUE} * (1 + l_tax)) AS sum_charge, avg(l_quantity) AS avg_qty, "
    "avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order FROM lineitem "
    "WHERE l_shipdate <= DATE'1998-09-02' GROUP BY l_returnflag, l_linestatus",
    "q03": f"SELECT l_orderkey, sum({REVENUE}) AS revenue, o_orderdate, o_shippriority FROM customer, orders, lineitem "
    "WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey "
    "AND o_orderdate < DATE'1995-03-15' AND l_shipdate > DATE'1995-03-15' "
    "GROUP BY l_orderkey, o_orderdate, o_shippriority",
    "q04": "SELECT o_orderpriority, count(*) AS order_count FROM orders WHERE o_orderdate >= DATE'1993-07-01' "
    "AND o_orderdate < DATE'1993-10-01' AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey "
    "AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority",
    "q05": f"SELECT n_name, sum({REVENUE}) AS revenue FROM customer, orders, lineitem, supplier, nation, region "
    "WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey "
    "AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA' "
    "AND o_orderdate >= DATE'1994-01-01' AND o_orderdate < DATE'1995-01-01' GROUP BY n_name",
    "q06": "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE'1994-01-01' "
    "AND l_shipdate < DATE'1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    "q07": "SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, year(l_shipdate) AS l_year, "
    f"sum({REVENUE}) AS revenue FROM supplier, lineitem, orders, customer, nation n1, nation n2 "
    "WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey "
    "AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey AND ((n1.n_name = 'FRANCE' "
    "AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE')) "
    "AND l_shipdate BETWEEN DATE'1995-01-01' AND DATE'1996-12-31' GROUP BY n1.n_name, n2.n_name, year(l_shipdate)",
    "q09": f"SELECT n_name AS nation, year(o_orderdate) AS o_year, sum({REVENUE} - ps_supplycost * l_quantity) "
    "AS sum_profit FROM part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey "
    "AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey "
    "AND s_nationkey = n_nationkey AND p_name LIKE '%green%' GROUP BY n_name, year(o_orderdate)",
    "q10": f"SELECT c_custkey, c_name, sum({REVENUE}) AS revenue, c_acctbal, n_name FROM customer, orders, lineitem, "
    "nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE'1993-10-01' "
    "AND o_orderdate < DATE'1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey "
    "GROUP BY c_custkey, c_name, c_acctbal, n_name",
    "q12": "SELECT l_shipmode, sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high, "
    "sum(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS low FROM orders, lineitem "
    "WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate "
    "AND l_shipdate < l_commitdate AND l_receiptdate >= DATE'1994-01-01' AND l_receiptdate < DATE'1995-01-01' "
    "GROUP BY l_shipmode",
    "q13": "SELECT c_count, count(*) AS custdist FROM (SELECT c_custkey, count(o_orderkey) AS c_count FROM customer "
    "LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' "
    "GROUP BY c_custkey) GROUP BY c_count",
    "q14": f"SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN {REVENUE} ELSE 0 END) / sum({REVENUE}) AS promo "
    "FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE'1995-09-01' "
    "AND l_shipdate < DATE'1995-10-01'",
    "q18": "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity "
    "FROM customer, orders, lineitem WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey "
    "HAVING sum(l_quantity) > 300) AND c_custkey = o_custkey AND o_orderkey = l_orderkey "
    "GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice",
    "q19": f"SELECT sum({REVENUE}) AS revenue FROM lineitem, part WHERE p_partkey = l_partkey "
    "AND l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON' AND ((p_brand = 'Brand#12' "
    "AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5) OR (p_brand = 'Brand#23' "
    "AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10) OR (p_brand = 'Brand#34' "
    "AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15))",
}
"""Those of the 22 queries that read ``lineitem`` or ``orders``, with the parameters of the validation run."""

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
SORTED = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
"""The two large tables, with the columns by which rows are spread over files, as when they arrive in order."""


DENSITY = 4
"""Of so many keys in a row, one is that of an order: TPC-H uses the first 8 of 32."""


def generate(scale: float, place: Path) -> None:
    """The tables as Parquet files, by ``tpchgen-cli``."""
    command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "--scale-factor", str(scale)]
    subprocess.run([*command, "--output-dir", str(place)], check=True, capture_output=True)


def loading(place: Path, using: str, files: int) -> list[str]:
    """The statements that load the tables; the two large ones into so many files."""
    statements = []
    for table in TABLES:
        spread = f"/*+ REPARTITION_BY_RANGE({files}, {SORTED[table]}) */ " if table in SORTED else ""
        statements.append(
            f"CREATE TABLE {table} USING {using} AS SELECT {spread}* FROM parquet.`{place / table}.parquet`"
        )
    return statements


def refreshing(orders: int, part: float, turn: int) -> list[str]:
    """The statements of both refresh functions: of so many orders a part goes and as many come, with their lines.

    Orders go in the order of their keys. Those that come are copies of others under new keys.
    """
    keys = DENSITY * max(DENSITY, round(orders * part))
    # Those that go are in the first half of the keys, those that are copied in the second one.
    first = turn * keys % (DENSITY * orders // 2)
    other, new = first + DENSITY * orders // 2, 100_000_000 * (turn + 1)
    statements = []
    for table, key in SORTED.items():
        copied = f"SELECT {key} + {new} AS {key}, * EXCEPT ({key}) FROM {table}"
        statements += [
            f"INSERT INTO {table} {copied} WHERE {key} >= {other} AND {key} < {other + keys}",
            f"DELETE FROM {table} WHERE {key} >= {first} AND {key} < {first + keys}",
        ]
    return statements
