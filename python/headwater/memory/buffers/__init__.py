"""The rows of runs that others read before the warehouse has them, and scans for several runs.

The warehouse knows the port, ``spark.refreshing.memory.Memory``. A *buffer* is the place: a fast volume, Spark's own
memory, or none.
"""
