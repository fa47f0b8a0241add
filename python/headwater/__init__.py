"""Headwater keeps the derived tables of a Spark warehouse consistent with their sources."""

__version__ = "0.1.0"
