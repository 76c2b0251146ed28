"""Run folders, read back. Only JSON, CSV and plain arrays are read; nothing is executed."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from uflp.agents import LEARNERS
from uflp.experiments.agents import AGENTS
from uflp.experiments.presets import find_preset
from uflp.files import read_file
from uflp.planning import RULES
from uflp.report.statistics import Curve, normalised_auc, queries_to_target
from uflp.runs.folder import CONFIG, METRICS, SUMMARY, as_json
from uflp.simulators import SIMULATORS
from uflp.simulators.lookup import parse
from uflp.training.exploration_log import Exploration, read_explored
from uflp.training.settings import LOOP_PARTS, defaults_of, present_names
from uflp.types import UsageError
from uflp.uncertainty import UNCERTAINTIES

RETURN = "eval_return_mean"
"""The column of `metrics.csv` that learning curves show unless another is named."""

_LARGEST = 1e100
"""Of the numbers that are drawn: their squares and sums are numbers, too."""

_LARGEST_FILE = 1 << 26
_MOST_COLUMNS = 1000
"""Bytes of a file, and columns of metrics, that a run may have: all of it is held in memory."""

# Runs that were moved aside for others of their name.
_ASIDE = re.compile(r"\.old-\d+$")

Ending = Literal["budget", "goal", "cut"]


class Skipped(NamedTuple):
    """A folder or file that was left out, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run, as its folder tells it.

    Attributes:
        path: the run folder.
        preset: name of the preset.
        agent: name of the agent.
        uncertainty: name of the uncertainty, None where the run needed none.
        access: `online` or `local`.
        variant: name of the preset's variant, None for the preset as it is.
        seed: of all randomness.
        settings: every resolved setting by its key.
        metrics: the columns of `metrics.csv`, float64 [rows] each; an empty cell is NaN.
        summary: what the run came to; None if it is unfinished.
    """

    path: Path
    preset: str
    agent: str
    uncertainty: str | None
    access: str
    variant: str | None
    seed: int
    settings: Mapping[str, Any]
    metrics: Mapping[str, np.ndarray]
    summary: Mapping[str, Any] | None

    @property
    def budget(self) -> int:
        """Queries that the run was given."""
        return int(self.settings["queries"])

    @property
    def queries(self) -> int:
        """Queries up to the last evaluation."""
        return int(self.metrics["queries"][-1])

    @property
    def target(self) -> float | None:
        """The return that `queries_to_target` waits for."""
        target = self.settings.get("target_return")
        # False for NaN, and for whole numbers that no float can hold.
        if isinstance(target, int | float) and abs(target) <= _LARGEST:
            return float(target)
        return None

    @property
    def ending(self) -> Ending:
        """End of the run: `budget` spent, stopped at its `goal`, or `cut` short.

        The summary says so. One of a version that did not: there a run ended at its goal if it
        spent less than its budget, and its last evaluation reached the target return, if any.
        """
        summary = self.summary or {}
        if summary.get("stopped") == "goal":
            return "goal"
        if self.queries >= self.budget:
            return "budget"
        if self.summary is None or "stopped" in summary:
            return "cut"
        reached = self.target is None or self.metrics[RETURN][-1] >= self.target
        return "goal" if reached else "cut"

    @property
    def area(self) -> float:
        """Normalised area under the evaluation curve, over the whole budget."""
        return normalised_auc(self.curve(), self.budget)

    @property
    def rewarded_queries(self) -> float:
        """Queries with a positive reward; NaN where they were not counted."""
        return self.last("positive_rewards")

    @property
    def queries_to_first_reward(self) -> float:
        """Queries at the first evaluation after a rewarded query, infinity if there was none."""
        if "positive_rewards" not in self.metrics:
            return math.nan
        return queries_to_target(self.curve("positive_rewards"), 1)

    @property
    def cells(self) -> float:
        """Different cells that were seen: as the simulator counts them, or on its map; else NaN."""
        if "cells" in self.metrics:
            return self.last("cells")
        try:
            explored = read_explored(self.path / Exploration.file)
        except (OSError, ValueError):
            return math.nan
        return float((explored.visits.sum(axis=0) > 0).sum())

    def last(self, column: str) -> float:
        """Return the last value of a column, NaN where there is none."""
        return float(self.metrics[column][-1]) if column in self.metrics else math.nan

    def curve(self, column: str = RETURN) -> Curve:
        """Return a column over queries, without the rows whose cell is empty."""
        values = self.metrics[column]
        known = ~np.isnan(values)
        return Curve(self.metrics["queries"][known], values[known], holds=self.ending == "goal")


def read_runs(directories: Sequence[Path]) -> tuple[list[RunRecord], list[Skipped]]:
    """Read every run folder at or below the directories, each once, in order of their paths.

    Returns:
        The runs, and what was left out: damaged run folders, and damaged parts of readable ones.
    """
    runs: list[RunRecord] = []
    skipped: list[Skipped] = []
    for path in _candidates(directories, skipped):
        try:
            runs.append(_read_run(path, skipped))
        except _DamageError as damage:
            skipped.append(Skipped(path, str(damage)))
    return _completed(runs), skipped


class _DamageError(Exception):
    """A run cannot be read; the message says why."""


def _candidates(directories: Sequence[Path], skipped: list[Skipped]) -> list[Path]:
    """Return folders that hold a run, or what is left of one."""

    def closed(error: OSError) -> None:
        skipped.append(Skipped(Path(error.filename), f"cannot be listed: {error.strerror}"))

    found: dict[Path, Path] = {}
    for directory in directories:
        for parent, folders, files in os.walk(directory, onerror=closed):
            folders[:] = [name for name in folders if not _ASIDE.search(name)]
            path = Path(parent)
            # Many programs keep a config.json: alone, it counts only if a run wrote it.
            if METRICS in files or (CONFIG in files and _is_config(path / CONFIG)):
                found.setdefault(path.resolve(), path)
    return sorted(found.values())


def _is_config(path: Path) -> bool:
    try:
        _read_config(path)
    except _DamageError:
        return False
    return True


def _read_run(path: Path, skipped: list[Skipped]) -> RunRecord:
    config = _read_config(path / CONFIG)
    metrics = _read_metrics(path / METRICS, skipped)
    summary = None
    if (path / SUMMARY).exists():
        try:
            summary = _read_object(path / SUMMARY)
        except _DamageError as damage:
            skipped.append(Skipped(path / SUMMARY, f"{damage}; the run counts as unfinished"))
    names = {key: config[key] for key in ("preset", "agent", "uncertainty", "access", "seed")}
    names["variant"] = config.get("variant")
    # Older runs lack settings that came later, and did what these have as their defaults.
    settings = defaults_of(*LOOP_PARTS.values()) | present_names(config["settings"])
    return RunRecord(path, **names, settings=settings, metrics=metrics, summary=summary)


def _completed(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the runs with the settings of their parts that came later, as `Job` completes them.

    Only where runs of the same names differ in what they know: the parts take a while to import.
    """
    known: dict[tuple[Any, ...], set[frozenset[str]]] = {}
    for run in runs:
        known.setdefault(_kind(run), set()).add(frozenset(run.settings))
    return [
        dataclasses.replace(run, settings=as_json(defaults_of(*_parts(run))) | run.settings)
        if len(known[_kind(run)]) > 1
        else run
        for run in runs
    ]


def _kind(run: RunRecord) -> tuple[Any, ...]:
    return run.preset, run.agent, run.uncertainty, run.access, run.variant


def _parts(run: RunRecord) -> list[Any]:
    """Return the settings classes of a run, as far as there are such names here."""
    named = [
        (LEARNERS, AGENTS[run.agent].learner if run.agent in AGENTS else ""),
        (UNCERTAINTIES, run.uncertainty or ""),
        (RULES, str(run.settings["rule"])),
    ]
    parts = [registry[name] for registry, name in named if name in registry]
    with contextlib.suppress(UsageError, ImportError):
        preset = find_preset(run.preset)
        parts.append(parse(run.preset)[0] if ":" in run.preset else SIMULATORS[preset.simulator])
    return parts


def _read_object(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            raise _DamageError(f"{path.name} is missing")
        value = json.loads(read_file(path, _LARGEST_FILE).decode())
    except OSError as error:
        raise _DamageError(f"{path.name} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _DamageError(f"{path.name} is not readable JSON") from error
    if not isinstance(value, dict):
        raise _DamageError(f"{path.name} is not a JSON object")
    return value


def _read_config(path: Path) -> dict[str, Any]:
    config = _read_object(path)
    settings = config.get("settings")
    budget = settings.get("queries") if isinstance(settings, dict) else None
    named = (
        _is_name(config.get("preset"))
        and _is_name(config.get("agent"))
        and ("uncertainty" in config and _is_name(config["uncertainty"] or "none"))
        and config.get("access") in ("local", "online")
        and _is_name(config.get("variant") or "none")
        and type(config.get("seed")) is int
    )
    if not named or type(budget) is not int or not 1 <= budget < 2**53:
        raise _DamageError(f"{path.name} is not the configuration of a run")
    return config


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable() and value != ""


def _read_metrics(path: Path, skipped: list[Skipped]) -> dict[str, np.ndarray]:
    """Read the columns; a last line that was cut off is left out, other damage is an error."""
    try:
        if not path.is_file():
            raise _DamageError("no evaluation was recorded")
        text = read_file(path, _LARGEST_FILE).decode()
        whole, _, rest = text.rpartition("\n")
        if whole.partition("\n")[0].count(",") >= _MOST_COLUMNS:
            raise _DamageError(f"{path.name} has more than {_MOST_COLUMNS} columns")
        header, *rows = list(csv.reader(io.StringIO(whole, newline=""))) or [[]]
    except OSError as error:
        raise _DamageError(f"{path.name} cannot be read: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise _DamageError(f"{path.name} is not readable CSV") from error
    # Rows are written whole with their line ending, so one without it may have lost digits.
    if rows and rest:
        skipped.append(Skipped(path, "the last line was cut off; the lines before it are used"))
    if whole and not {"queries", RETURN} <= set(header):
        raise _DamageError(f"{path.name} is not the metrics of a run: it lacks queries or {RETURN}")
    if not rows:
        raise _DamageError("no evaluation was recorded")
    cells = [_numbers(row, len(header), line) for line, row in enumerate(rows, start=2)]
    columns = dict(zip(header, np.array(cells).T, strict=True))
    queries, returns = columns["queries"], columns[RETURN]
    # Written so that a NaN counts as a failure.
    if not (queries[0] > 0 and np.all(np.diff(queries) > 0) and queries[-1] < 2**53):
        raise _DamageError(f"{path.name} has queries that do not increase, or too many")
    if np.isinf(returns).any() or np.isnan(returns).all():
        raise _DamageError(f"{path.name} has no finite {RETURN}")
    if np.nanmax(np.abs(returns)) > _LARGEST:
        raise _DamageError(f"{path.name} has an {RETURN} beyond ±{_LARGEST:g}")
    # Of the other columns, such cells count as empty.
    return {
        name: np.where(np.abs(values) <= _LARGEST, values, np.nan)
        for name, values in columns.items()
    }


def _numbers(row: list[str], width: int, line: int) -> list[float]:
    try:
        if len(row) != width:
            raise ValueError
        return [float(cell) if cell else np.nan for cell in row]
    except ValueError:
        raise _DamageError(f"line {line} of {METRICS} is damaged") from None
