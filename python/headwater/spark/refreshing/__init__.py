"""Runs: from a launch to rows in the table of a view."""
