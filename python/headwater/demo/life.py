"""Three days of life, as data.

Each day is one spark-sql process. A step that does not drain leaves its work to the next day: what
was written is then remembered by no process, only by the store.
"""

from __future__ import annotations

from attrs import frozen

from headwater.model.partition import WHOLE, Slice


@frozen
class Write:
    """One statement, and the slice of a source that it changes."""

    table: str
    changed: Slice
    statement: str


@frozen
class LifeStep:
    """Writes to the sources; then (``drains``) all views take them in before life goes on."""

    title: str
    writes: tuple[Write, ...]
    drains: bool = True


@frozen
class Day:
    """One process: its name, its steps and its own settings."""

    name: str
    steps: tuple[LifeStep, ...]
    settings: tuple[tuple[str, str], ...] = ()


def new_orders(month: str) -> Write:
    statement = f"INSERT INTO orders SELECT * FROM landing.orders WHERE o_month = DATE'{month}'"
    return Write("orders", Slice.of(o_month=month), statement)


def new_lines(month: str) -> Write:
    statement = f"INSERT INTO lineitem SELECT * FROM landing.lineitem WHERE l_month = DATE'{month}'"
    return Write("lineitem", Slice.of(l_month=month), statement)


def credit_notes(month: str, which: str) -> Write:
    """Books the line items ``which`` of a month once more, with the opposite sign."""
    statement = f"""INSERT INTO lineitem BY NAME
        SELECT * EXCEPT (l_quantity, l_extendedprice),
               -l_quantity AS l_quantity, -l_extendedprice AS l_extendedprice
        FROM landing.lineitem WHERE l_month = DATE'{month}' AND {which}"""
    return Write("lineitem", Slice.of(l_month=month), statement)


def delivered_again(month: str, which: str) -> Write:
    statement = f"""INSERT OVERWRITE orders PARTITION (o_month = DATE'{month}')
        SELECT * EXCEPT (o_month) FROM landing.orders WHERE o_month = DATE'{month}' AND {which}"""
    return Write("orders", Slice.of(o_month=month), statement)


def nation_moves(nation: str, region_key: int) -> Write:
    statement = f"""INSERT OVERWRITE nation
        SELECT n_nationkey, n_name, if(n_name = '{nation}', {region_key}, n_regionkey), n_comment
        FROM landing.nation"""
    return Write("nation", WHOLE, statement)


DAYS = (
    Day(
        "1",
        (
            LifeStep("July 1998 arrives", (new_orders("1998-07-01"), new_lines("1998-07-01"))),
            LifeStep("March 1996 is corrected", (credit_notes("1996-03-01", "l_linenumber = 6"),)),
        ),
    ),
    Day("2", (LifeStep("May 1997 is overwritten", (delivered_again("1997-05-01", "o_orderpriority <> '5-LOW'"),)),)),
    Day(
        "2, evening",
        (
            LifeStep(
                "August arrives, July is corrected, nothing refreshed yet",
                (new_orders("1998-08-01"), new_lines("1998-08-01"), credit_notes("1998-07-01", "l_linenumber = 7")),
                drains=False,
            ),
        ),
        settings=(("spark.headwater.role", "report"),),
    ),
    Day("3", (LifeStep("Nation changes: Egypt moves to Africa", (nation_moves("EGYPT", 0),)),)),
)
