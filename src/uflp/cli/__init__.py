"""The command line, one file a command.

Every command ends with 0, with 1 if the work failed, or with 2 if what was asked for cannot be
done; then one sentence says why, and nothing has been written.
"""

from __future__ import annotations

import sys

import typer

from uflp.cli import check, figures, listing, report, train
from uflp.types import UsageError

app = typer.Typer(
    name="uflp",
    help="Reinforcement learning with a simulator that can go back.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(listing.list_names)
app.command()(train.train)
app.command()(figures.figure)
app.command()(figures.sweep)
app.command()(report.report)
app.command()(check.check)


def main() -> None:
    """Runs the command line, turning every expected failure into one sentence and a code."""
    try:
        app()
    except UsageError as error:
        _fail(f"{error}.", 2)
    except ArithmeticError as error:
        _fail(f"stopped: {error}; the metrics so far are kept.", 1)
    except KeyboardInterrupt:
        _fail("interrupted; the metrics so far are kept.", 130)


def _fail(sentence: str, code: int) -> None:
    print(f"uflp: {sentence}", file=sys.stderr)
    sys.exit(code)
