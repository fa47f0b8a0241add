"""The store: one relational database that all engines on a warehouse share.

Its parts: the journal (``journal``), snapshots of the state (``snapshots``), the engines (``members``), and
what engines and commands leave for one another (``board``). SQLite and PostgreSQL differ in ``dialect`` only.
"""

from __future__ import annotations

from headwater.store.board import Board
from headwater.store.journal import Journal
from headwater.store.members import Members
from headwater.store.snapshots import Snapshots


class SqlStore(Journal, Snapshots, Members, Board):
    """Opens (and creates) a store: a SQLite file, or the URL of a PostgreSQL database (see ``store.database``)."""
