"""Text that cannot be written never ends a run."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from uflp.progress import LenientStream, Progress, protect_streams

MAIN = [sys.executable, "-c", "from uflp.cli import main; main()"]
RUN = ["train", "deep-sea", "--set", "size=3", "--agent", "random", "--uncertainty", "counts"]
RUN += ["--queries", "40", "--set", "eval_period=10"]
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def finished(folder: Path) -> bool:
    return json.loads((folder / "summary.json").read_text())["queries"] == 40


def shell(line: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Calls the command line as `"$@"` in a line of the shell."""
    command = ["sh", "-c", line, "sh", *MAIN, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_reader_who_has_left_does_not_end_the_runs(tmp_path: Path) -> None:
    ended = shell('"$@" | head -n 0', *RUN, "--seeds", "2", "--json", "--out", tmp_path / "run")
    assert ended.stderr == ""
    outcome = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert [run["queries"] for run in outcome["runs"]] == [40, 40]


@needs_full
def test_an_outcome_that_cannot_be_written_is_an_error_after_the_run(tmp_path: Path) -> None:
    ended = shell('"$@" > /dev/full', *RUN, "--out", tmp_path / "run")
    assert ended.returncode == 1
    assert ended.stderr == "uflp: the output could not be written: No space left on device.\n"
    assert finished(tmp_path / "run")


@needs_full
@pytest.mark.parametrize("line", ['"$@" 2> /dev/full', '"$@" 2>&-', '"$@" 2>&- >&- <&-'])
def test_errors_that_cannot_be_written_are_no_matter(tmp_path: Path, line: str) -> None:
    ended = shell(line, *RUN, "--out", tmp_path / "run")
    assert ended.returncode == 0
    assert finished(tmp_path / "run")
    refused = shell(line, "train", "no-such-preset", "--out", tmp_path / "other")
    assert refused.returncode == 2


def test_nothing_is_written_into_files_that_have_the_descriptor_of_a_closed_stream(
    tmp_path: Path,
) -> None:
    """The first file that is opened gets the lowest descriptor that is free."""
    code = (
        "import os, sys\nfrom uflp.progress import protect_streams\nprotect_streams()\n"
        "file = open(sys.argv[1], 'w')\nos.write(2, b'a warning of a library')\nfile.close()\n"
    )
    command = ["sh", "-c", 'exec "$@" 2>&- >&- <&-', "sh", sys.executable, "-c", code]
    subprocess.run([*command, tmp_path / "metrics.csv"], check=True)
    assert (tmp_path / "metrics.csv").read_text() == ""


def test_letters_that_a_terminal_does_not_know_are_spelled_out() -> None:
    raw = io.BytesIO()
    stream = LenientStream(io.TextIOWrapper(raw, encoding="ascii"))
    print("ε = 0.1 …", file=stream, flush=True)
    assert raw.getvalue() == b"\\u03b5 = 0.1 \\u2026\n"
    assert stream.failed is None


class Broken(io.StringIO):
    """A stream that nothing can be written to."""

    def __init__(self, error: Exception, terminal: bool):
        super().__init__()
        self._error = error
        self._terminal = terminal

    def write(self, text: str) -> int:
        raise self._error

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "gone"), BrokenPipeError(), ValueError("closed file")]
)
@pytest.mark.parametrize("wrap", [LenientStream, lambda stream: stream])
def test_progress_that_cannot_be_shown_is_no_matter(
    error: Exception, terminal: bool, wrap: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uflp.progress._LINE_EVERY", 0.0)
    monkeypatch.setattr(sys, "stderr", wrap(Broken(error, terminal)))
    row = {"queries": 10, "eval_return_mean": 0.5, "restarts": 3, "wall_seconds": 1.0}
    with Progress(100) as progress:
        progress.row(row)
        progress.status(20, "2 actors")


def test_progress_without_a_stream_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with Progress(100) as progress:
        progress.status(20, "2 actors")


def test_a_stream_is_protected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.StringIO())
    protect_streams()
    before = sys.stdout
    protect_streams()
    assert sys.stdout is before
    assert os.fstat(2)
