"""The rows of runs that others read before the warehouse has them, and scans for several runs.

``memory.Memory`` is the only thing of it that the rest of Headwater uses. A *room* is the place: a fast volume, Spark's
own memory, or none.
"""
