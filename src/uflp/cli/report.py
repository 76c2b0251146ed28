"""`uflp report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uflp.cli.words import tell_skipped


def report(
    directories: Annotated[list[Path], typer.Argument(help="run folders, or folders of them")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="file to write, .html or .md  [default: report.html in the first folder]"
        ),
    ] = None,
) -> None:
    """Sum up runs on one page: a verdict, learning curves, a table, and where the runs have been.

    The page needs nothing beside it, so it can be mailed or put on a server as it is. With
    `--out FILE.md` it is Markdown with pictures beside it. What cannot be read is left out, and
    named; if nothing is left to draw, the exit code is 2.

    Example: `uflp report runs --out report.html`
    """
    from uflp.report import write_report

    written = write_report(directories, out)
    tell_skipped(written.skipped)
    print(written.path)
