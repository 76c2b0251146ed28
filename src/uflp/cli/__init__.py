"""The command line.

Every command ends with 0, with 1 if the work failed, or with 2 if what was asked for cannot be
done; then one sentence says why, and nothing has been written. Ctrl-C ends it with 130, SIGTERM
with 143 and a closed terminal with 129, once what was under way is saved.
"""

from __future__ import annotations

import errno
import sys
from typing import Annotated

import typer

from uflp import __version__
from uflp.arguments import named_as_flags
from uflp.cli import check, experiments, listing, runs, train
from uflp.progress import LenientStream, protect_streams
from uflp.runs.interruption import Interrupted, Interruption
from uflp.types import RunError, UsageError

app = typer.Typer(
    name="uflp",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"uflp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="print the version and exit"
        ),
    ] = False,
) -> None:
    """Reinforcement learning with a simulator that can go back."""


app.command("list")(listing.list_names)
app.command()(train.train)
app.command()(experiments.figure)
app.command()(experiments.sweep)
app.command()(runs.report)
app.command()(runs.evaluate)
app.command()(runs.export)
app.command()(runs.replay)
app.command()(experiments.compare)
app.command()(check.check)


def main() -> None:
    """Run the command line, turning every expected failure into one sentence and a code."""
    protect_streams()
    try:
        try:
            # A run and a series of runs have their own; before and after, there is nothing to save.
            with Interruption(at_once=True), named_as_flags():
                app(prog_name="uflp")
        finally:
            sys.stdout.flush()
    except SystemExit as error:
        if not error.code:
            _require_told()
        raise
    except UsageError as error:
        _fail(f"{error}.", 2)
    except RunError as error:
        _fail(f"stopped: {error}.", 1)
    except OSError as error:
        # Nothing has been written to a path that cannot be.
        name = "" if error.filename is None else f"{str(error.filename)[:80]}: "
        _fail(f"{name}{error.strerror or error}.", 2 if error.errno == errno.ENAMETOOLONG else 1)
    except Interrupted as error:
        _fail(error.advice, error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted.", 130)


def _require_told() -> None:
    """Fail if the outcome could not be written; a reader who has left has seen enough."""
    lost = sys.stdout.failed if isinstance(sys.stdout, LenientStream) else None
    if isinstance(lost, OSError) and lost.errno != errno.EPIPE:
        _fail(f"the output could not be written: {lost.strerror}.", 1)


def _fail(sentence: str, code: int) -> None:
    print(f"uflp: {sentence}", file=sys.stderr)
    sys.exit(code)
