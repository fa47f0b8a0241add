"""Delta tables, as sources and as the tables of views: a ``ViewFormat`` (``tables.DeltaTables``).

``snapshot``, ``layout``, ``log_changes`` and ``values`` are pure: they read the text of the log. All others ask
Delta's own classes, by ``calls``.
"""

from headwater.spark.tables.delta.tables import DeltaTables

__all__ = ["DeltaTables"]
