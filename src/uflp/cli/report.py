"""`uflp report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    directories: Annotated[list[Path], typer.Argument(help="run folders, or folders of them")],
    out: Annotated[Path | None, typer.Option(help="file to write")] = None,
) -> None:
    """Sum up runs: a table, and learning curves with intervals over seeds.

    Example: `uflp report runs --out report.md`
    """
    from uflp.report import write_report

    print(write_report(directories, out))
