"""The command line."""

from __future__ import annotations

import sys

import click

from headwater import __version__
from headwater.cli.backfill import backfill
from headwater.cli.inspect import cancel, explain, history, status
from headwater.cli.serve import jar, run
from headwater.cli.show import demo
from headwater.cli.simulate import simulate
from headwater.model.error import HeadwaterError


class _Group(click.Group):
    """Ends with a plain sentence where Headwater itself refuses something."""

    def invoke(self, context: click.Context):
        try:
            return super().invoke(context)
        except HeadwaterError as error:
            click.echo(f"headwater: {error}", err=True)
            sys.exit(1)


@click.group(cls=_Group)
@click.version_option(__version__)
def main() -> None:
    """Keeps the derived tables of a Spark warehouse fresh."""


for command in (jar, demo, run, status, explain, history, cancel, backfill, simulate):
    main.add_command(command)
