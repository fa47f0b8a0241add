"""A warehouse whose sources change faster than all views can be refreshed: its parts, for ``benchmarks.staleness``."""
