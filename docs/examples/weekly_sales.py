"""A job: sales by week, computed in Python."""

from headwater import WEEK, job, table


@job(
    outputs=["weekly"],
    columns="week DATE, revenue DECIMAL(20,2)",
    partition=WEEK,
    deps=[table("sales", partition=WEEK.days())],
)
def weekly(spark, partitions, inputs):
    return spark.sql("SELECT trunc(day, 'week') AS week, sum(amount) AS revenue FROM sales GROUP BY 1")
