"""The command line, one file a command.

Every command ends with 0, with 1 if the work failed, or with 2 if what was asked for cannot be
done; then one sentence says why, and nothing has been written. Ctrl-C ends it with 130 and SIGTERM
with 143, once what was under way is saved.
"""

from __future__ import annotations

import sys

import typer

from uflp.cli import check, compare, figures, listing, replay, report, train, trained
from uflp.runs.interruption import Interrupted
from uflp.types import RunError, UsageError

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
app.command()(trained.evaluate)
app.command()(trained.export)
app.command()(replay.replay)
app.command()(compare.compare)
app.command()(check.check)


def main() -> None:
    """Runs the command line, turning every expected failure into one sentence and a code."""
    try:
        app()
    except UsageError as error:
        _fail(f"{error}.", 2)
    except RunError as error:
        _fail(f"stopped: {error}.", 1)
    except Interrupted as error:
        _fail(error.advice, error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted.", 130)


def _fail(sentence: str, code: int) -> None:
    print(f"uflp: {sentence}", file=sys.stderr)
    sys.exit(code)
