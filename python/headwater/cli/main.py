"""The command line."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from headwater import __version__
from headwater.model.error import HeadwaterError

COMMANDS = {
    "jar": "serve",
    "demo": "serve",
    "run": "serve",
    "status": "status",
    "explain": "explain",
    "groups": "group_tables",
    "history": "inspect",
    "cancel": "inspect",
    "verify": "serve",
    "backfill": "backfill",
    "whatif": "whatif",
}
"""Each command, in the order of the help, and the module that it is in."""


class _Group(click.Group):
    """Loads a command when a user asks for it: a command does not wait for the imports of others.

    Ends with a plain sentence where Headwater itself refuses something.
    """

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return getattr(import_module(f"headwater.cli.{COMMANDS[name]}"), name) if name in COMMANDS else None

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
