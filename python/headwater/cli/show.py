"""The demo, as a command."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.option(
    "--scale", type=click.FloatRange(min=0, min_open=True), default=0.1, show_default=True, help="TPC-H scale factor."
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write the figures to this file.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the demo's warehouse in this directory.")
def demo(scale: float, json_path: Path | None, keep: Path | None) -> None:
    """Plays three days of a TPC-H warehouse and shows what was refreshed."""
    from headwater.demo.run import run_demo  # needs the demo's own dependencies, which others do not

    sys.exit(run_demo(scale, json_path, keep))
