"""Versions of partitions, and the changes on whose behalf slices are computed."""

from __future__ import annotations

from headwater.model.partition import Slice

Version = int
Inputs = tuple[tuple[str, Version], ...]
"""The versions of its sources that a partition, or totals, reflect."""

Needs = tuple[tuple[Slice, tuple[Version, ...]], ...]
"""Slices, each with the origins on whose behalf it is, or can be, computed."""
