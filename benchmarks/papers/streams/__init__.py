"""Warehouses of streams under rules of order and of tracks, as [Golab11] has them, for comparison."""
