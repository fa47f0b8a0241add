"""Rows that stay in memory between runs ([Li23]). ``planning`` decides which, and is pure; ``buffers`` keeps them.

The engine knows the port of a plan, ``engine.decide.schedule.Schedule``. ortools is imported in ``planning`` only.
"""
