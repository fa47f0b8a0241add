"""Decisions: from a state to the next commands."""
