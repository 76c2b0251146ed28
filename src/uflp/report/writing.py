"""From directories to a report on disk: all of it, or nothing and the reason why."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from uflp.files import create
from uflp.report import html, markdown
from uflp.report.curves import Reference, learning_curves, render
from uflp.report.exploration_section import read_records
from uflp.report.groups import Group, group_runs
from uflp.report.runs import Skipped, read_runs
from uflp.types import UsageError

KINDS = ("png", "svg")


class Report(NamedTuple):
    """A report that was written.

    Attributes:
        path: the page.
        skipped: what was left out of it, and why.
    """

    path: Path
    skipped: tuple[Skipped, ...]


_MARKDOWN = (".md",)
_HTML = (".html", ".htm")


def write_report(
    directories: Sequence[Path], out: Path | None = None, *, costs: str = ""
) -> Report:
    """Sum up every run at or below the directories.

    Writes one HTML page with everything inside it. Or, if `out` ends in `.md`, a Markdown page and,
    beside it, a picture of each preset as PNG and SVG, named after the page: `report-deep-sea.png`.

    Args:
        directories: run folders, or folders of them.
        out: the page to write; None means `report.html` in the first directory.
        costs: what going back cost, in one sentence, for the top of the page.

    Raises:
        UsageError: if there is nothing to draw or the page cannot be written; then nothing is.
    """
    directories = [Path(directory) for directory in directories]
    for directory in directories:
        if not directory.is_dir():
            problem = "is not a folder" if directory.exists() else "does not exist"
            raise UsageError(f"{directory} {problem}")
    if not directories:
        raise UsageError("a report needs at least one folder of runs")
    out = directories[0] / "report.html" if out is None else Path(out)
    _check(out)
    runs, skipped = read_runs(directories)
    if not runs:
        raise UsageError(_nothing(directories, skipped))
    groups, repeated = group_runs(runs)
    skipped += repeated
    presets: dict[str, list[Group]] = {}
    for group in groups:
        presets.setdefault(group.preset, []).append(group)
    write = _markdown if out.suffix.lower() in _MARKDOWN else _html
    write_files(write(out, presets, skipped, costs), out)
    return Report(out, tuple(skipped))


def _html(
    out: Path, presets: Mapping[str, Sequence[Group]], skipped: list[Skipped], costs: str
) -> dict[Path, bytes]:
    records = read_records([group for groups in presets.values() for group in groups], skipped)
    references = {preset: _references(groups) for preset, groups in presets.items()}
    text = html.page(presets, references, records, skipped, costs)
    return {out: text.encode("utf-8", errors="replace")}


def _markdown(
    out: Path, presets: Mapping[str, Sequence[Group]], skipped: list[Skipped], costs: str
) -> dict[Path, bytes]:
    names = _file_names(out.stem, list(presets))
    files: dict[Path, bytes] = {}
    for preset, members in presets.items():
        figure = learning_curves(members, title=preset, references=_references(members))
        for kind in KINDS:
            files[out.parent / names[preset][kind]] = render(figure, kind)
    # The page comes last, so that it never points at pictures that are not there.
    groups = [group for members in presets.values() for group in members]
    files[out] = markdown.page(groups, names, skipped, costs).encode("utf-8", errors="replace")
    return files


def _check(out: Path) -> None:
    """Refuse another kind of file, and to write over anything but an earlier report."""
    try:
        if out.is_dir():
            raise UsageError(f"{out} is a folder: name a file in it")
        known = not out.exists() or (out.is_file() and _is_report(out))
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    if not known:
        raise UsageError(f"{out} is not an earlier report: choose another file, or remove it")
    if out.suffix and out.suffix.lower() not in (*_MARKDOWN, *_HTML):
        raise UsageError(f"a report ends in .html or .md, and {out} does not")


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(200)
    return start.startswith((markdown.HEADING.encode(), html.HEADING.encode()))


def _nothing(directories: Sequence[Path], skipped: Sequence[Skipped]) -> str:
    where = ", ".join(map(str, directories))
    if not skipped:
        return f"there are no run folders at or below {where}"
    path, reason = skipped[0]
    more = f", and {len(skipped) - 1} more like it" if len(skipped) > 1 else ""
    return f"no run at or below {where} can be used: in {path}, {reason}{more}"


def _file_names(stem: str, presets: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the names of each preset's pictures: `atari/pitfall` becomes `…-atari-pitfall`."""
    names: dict[str, dict[str, str]] = {}
    taken: set[str] = set()
    for preset in presets:
        name = base = f"{stem}-{re.sub(r'[^a-z0-9]+', '-', preset.lower()).strip('-')[:80]}"
        count = 1
        while name in taken:
            count += 1
            name = f"{base}-{count}"
        taken.add(name)
        names[preset] = {kind: f"{name}.{kind}" for kind in KINDS}
    return names


def _references(groups: Sequence[Group]) -> list[Reference]:
    """Return the target return as a line, if the groups agree on it."""
    targets = {run.target for group in groups for run in group.runs}
    target = targets.pop()
    return [] if targets or target is None else [Reference(target, f"target {target:g}")]


def write_files(files: Mapping[Path, bytes], out: Path) -> None:
    """Write all files or none: under other names first, then they are renamed.

    All go into the folder of `out`, the one that an error names.
    """
    made = [folder for folder in out.parents if not folder.exists()]
    # Names of their own, so that a page may have the longest name that there can be.
    temporary = {
        path: path.with_name(f".{os.getpid()}-{number}.tmp") for number, path in enumerate(files)
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for path in files:
            # Found out now, before the first file is in place; so is a name that is too long.
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, f"{path.name} is a folder")
        for path, data in files.items():
            with create(temporary[path]) as file:
                file.write(data)
        for path in files:
            temporary[path].replace(path)
    except OSError as error:
        for path in temporary.values():
            with contextlib.suppress(OSError):
                path.unlink()
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
