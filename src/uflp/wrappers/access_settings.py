"""Settings of local access, and the parts of a planner that are made from them.

`LocalAccess` and `LocalAccessVector` take the same settings. Each copy of the environment has a
planner of its own; copies that share their parts decide together.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import gymnasium
import numpy as np

from uflp import spaces
from uflp.cells import has_whole_numbers
from uflp.planning.history import History, history_of
from uflp.planning.observers import Observer, Observers
from uflp.planning.planner import LocalPlanner
from uflp.planning.rules import RULES, Kind, Rule, RuleSettings, Sources
from uflp.planning.save_schedule import ByNovelty, EveryKth, SaveSchedule
from uflp.registry import unknown
from uflp.simulators.base import Simulator
from uflp.types import UsageError
from uflp.uncertainty import UNCERTAINTIES, Uncertainty
from uflp.uncertainty.counts import CellCounts, Counts, TableCounts

_SELDOM = 16
"""Steps between two snapshots where a save is dear and observations have no cells."""

_PLAIN = (gymnasium.spaces.Box, gymnasium.spaces.Discrete)
"""Spaces of observations that have no parts."""


@dataclass(frozen=True)
class AccessSettings:
    """Settings of where episodes begin and what is saved; see `LocalAccess`."""

    uncertainty: Any = "counts"
    p_init: float = 0.2
    batch: int | Literal["auto"] | None = "auto"
    restart: Kind | None = None
    rule: str | RuleSettings = "uncertainty"
    first_action: Literal["free", "forced"] = "free"
    checkpoint_period: int | None = None
    restart_limit: int | None = None
    history_size: int = 100_000
    uncertainty_settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _is_number(self.p_init) or not 0 <= self.p_init <= 1:
            raise UsageError(f"p_init must lie in [0, 1], not {self.p_init!r}")
        if self.first_action not in ("free", "forced"):
            raise UsageError(f"first_action is 'free' or 'forced', not {self.first_action!r}")
        if self.restart not in (None, *get_args(Kind)):
            raise UsageError(f"restart is 'pair', 'state' or None, not {self.restart!r}")
        if isinstance(self.rule, str) and self.rule not in RULES:
            raise UsageError(unknown("rule", self.rule, RULES))
        for name in ("uncertainty", "rule"):
            value = getattr(self, name)
            makes = callable(getattr(value, "make", None)) and not isinstance(value, type)
            if not isinstance(value, str) and not makes:
                raise UsageError(
                    f"{name} is a name, or an object of settings whose method make builds one, "
                    f"not {value!r}"
                )
        if self.batch != "auto":
            _at_least_1("batch", self.batch, "'auto' or None for the whole history")
        _at_least_1("checkpoint_period", self.checkpoint_period, "None to save what is new")
        _at_least_1("restart_limit", self.restart_limit, "None for no limit")
        if self.history_size is None:
            raise UsageError("history_size must be a whole number of at least 1, not None")
        _at_least_1("history_size", self.history_size, "")

    def make(self, simulator: Simulator, seed: int) -> SharedParts:
        """Return the parts of a planner for a simulator.

        Args:
            simulator: it, or one of equal copies.
            seed: of what an uncertainty draws when it is made.
        """
        counted = spaces.count(simulator.action_space)
        # Where actions have no numbers, the uncertainty is one of states alone.
        actions = counted or 1
        if self.restart == "pair" and counted is None:
            raise UsageError(
                f"actions of {simulator.action_space} have no numbers to compare pairs by: "
                'use restart="state", with which counts, covariance and rnd score states alone'
            )
        rule = RULES[self.rule]() if isinstance(self.rule, str) else self.rule
        scores: Uncertainty | None = None
        key_of: Callable[[Any], Any] | None = None
        if rule.needs is not None:
            space = simulator.observation_space
            scores = self._uncertainty().make(_key_space(space), actions, seed)
            key_of = _keying(space, scores)
        history = history_of(simulator, scores, entries=self.history_size, key_of=key_of)
        forced = self.first_action == "forced"
        pairs = forced and counted is not None and scores is not None and scores.knows_actions
        sources = Sources(
            history=history,
            actions=actions,
            batch=_batch(scores) if self.batch == "auto" else self.batch,
            kind=self.restart or ("pair" if pairs else "state"),
            uncertainty=scores,
            predict=_no_values,
            td_error=None,
        )
        return SharedParts(
            history=history,
            uncertainty=scores,
            rule=rule.make(sources),
            key_of=key_of,
            schedule=self._schedule(simulator, scores, seed),
            portable=simulator.portable,
        )

    def identity(self, simulator: Simulator, seed: int) -> dict[str, str]:
        """Return what must be equal for a planner to go on with what another one knew."""
        # Version 0.2.0 hashed whole numbers, which have other cells now.
        exact = _is_told_apart(simulator.observation_space)
        return {
            **({"cells": "exact"} if exact else {}),
            "environment": simulator.stamp,
            "uncertainty": f"{_described(self.uncertainty)} {dict(self.uncertainty_settings)}",
            "rule": _described(self.rule),
            "checkpoint_period": str(self.checkpoint_period),
            "batch": str(self.batch),
            "history_size": str(self.history_size),
            "seed": str(seed),
        }

    def planner(self, parts: SharedParts, observer: Observer) -> LocalPlanner:
        """Return the planner of one copy.

        Args:
            parts: of this copy alone, or of several.
            observer: of what is saved.
        """
        return LocalPlanner(
            history=parts.history,
            uncertainty=parts.uncertainty,
            rule=parts.rule,
            key_of=parts.key_of,
            p_init=self.p_init,
            schedule=parts.schedule,
            restart_limit=self.restart_limit,
            observers=Observers([observer]),
        )

    def _uncertainty(self) -> Any:
        """Return the settings of a named uncertainty, or those that were given."""
        if not isinstance(self.uncertainty, str):
            return self.uncertainty
        usable = [name for name in UNCERTAINTIES if name != "ensemble-std"]
        if self.uncertainty == "ensemble-std":
            raise UsageError(
                "ensemble-std compares the values of an agent's ensemble, which a wrapper does not "
                f"see: choose {', '.join(usable)}"
            )
        if self.uncertainty not in usable:
            raise UsageError(unknown("uncertainty", self.uncertainty, usable))
        try:
            return UNCERTAINTIES[self.uncertainty](**self.uncertainty_settings)
        except TypeError as error:
            kind = UNCERTAINTIES[self.uncertainty]
            known = [one.name for one in fields(kind)]
            wrong = [name for name in self.uncertainty_settings if name not in known]
            if not wrong:
                raise
            near = difflib.get_close_matches(wrong[0], [*_ARGUMENTS, *known], n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UsageError(
                f"{self.uncertainty} has no {wrong[0]}, and neither has LocalAccess: {hint}"
                f"settings of {self.uncertainty} are {', '.join(known)}"
            ) from error

    def _schedule(
        self, simulator: Simulator, uncertainty: Uncertainty | None, seed: int
    ) -> SaveSchedule:
        """Return the save schedule: the period that was given, or by novelty where a save is dear.

        Novelty uses the cells of the counts, or cells of its own.
        """
        if self.checkpoint_period is not None or simulator.snapshot_width is not None:
            return EveryKth(self.checkpoint_period or 1)
        if isinstance(uncertainty, TableCounts):
            return ByNovelty()
        space = simulator.observation_space
        try:
            cells = Counts().make(_key_space(space), 1, seed)
        except UsageError:  # no uncertainty needs them, or the one that does has cells of its own
            return EveryKth(_SELDOM)
        return ByNovelty(cells, flatten=flattening(space))


_ARGUMENTS = (
    *(one.name for one in fields(AccessSettings) if one.name != "uncertainty_settings"),
    "time_limit",
    "strategy",
    "check",
    "axes",
    "seed",
)
"""Arguments that LocalAccess and its vector take by name."""


@dataclass(frozen=True)
class SharedParts:
    """Parts that copies of an environment may share; see `LocalPlanner`.

    Attributes:
        portable: whether snapshots are bytes.
        depths: steps from the initial states to the state of each entry, across restarts.
    """

    history: History
    uncertainty: Uncertainty | None
    rule: Rule
    key_of: Callable[[Any], Any] | None
    schedule: SaveSchedule
    portable: bool
    depths: dict[int, int] = field(default_factory=dict)

    @property
    def cells(self) -> int | None:
        """Different cells that were reached; None where nothing counts them."""
        if isinstance(self.schedule, ByNovelty):
            return self.schedule.reached
        if isinstance(self.uncertainty, CellCounts):
            return self.uncertainty.cells
        if isinstance(self.uncertainty, TableCounts):
            return int(self.uncertainty.visits.any(axis=1).sum())
        return None


def _described(settings: Any) -> str:
    """Return a name or settings in words that are the same in another process."""
    if isinstance(settings, str):
        return settings
    silent = type(settings).__repr__ is object.__repr__
    return type(settings).__qualname__ if silent else repr(settings)


def generator(seed: int | None) -> np.random.Generator:
    """Return the generator that restarts are drawn with."""
    if seed is not None and (not _is_whole(seed) or seed < 0):
        raise UsageError(f"seed must be None or a whole number of at least 0, not {seed!r}")
    return np.random.default_rng(seed)


def _batch(uncertainty: Uncertainty | None) -> int | None:
    """Return the whole history where the most uncertain entry is found without scoring all."""
    cheap = uncertainty is not None and uncertainty.key_shape == () and uncertainty.monotone
    return None if cheap else 32


def flattening(space: gymnasium.Space[Any]) -> Callable[[Any], Any] | None:
    """Return what flattens observations with parts; None for those without."""
    if isinstance(space, _PLAIN):
        return None
    whole: Callable[[Any], Any] = functools.partial(gymnasium.spaces.flatten, space)
    parts = space.spaces if isinstance(space, gymnasium.spaces.Dict) else {}
    vectors = all(
        isinstance(part, gymnasium.spaces.Box) and len(part.shape) == 1 for part in parts.values()
    )
    kinds = {part.dtype for part in parts.values()}
    if not parts or not vectors or len(kinds) > 1:
        return whole
    names, dtype = list(parts), kinds.pop()

    def joined(seen: Any) -> Any:
        """Return what Gymnasium would, in a tenth of the time."""
        values = [seen[name] for name in names]
        if all(type(value) is np.ndarray and value.dtype == dtype for value in values):
            return np.concatenate(values)
        return whole(seen)

    return joined


def _keying(space: gymnasium.Space[Any], uncertainty: Uncertainty) -> Callable[[Any], Any] | None:
    """Return what gives the key of an observation with parts; None for one without."""
    flatten = flattening(space)
    return None if flatten is None else lambda seen: uncertainty.key_of(flatten(seen))


def _is_told_apart(space: gymnasium.Space[Any]) -> bool:
    """Return whether different observations have different cells, being whole numbers."""
    try:
        return has_whole_numbers(_key_space(space))
    except UsageError:  # nothing counts them
        return False


def _key_space(space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
    """Return the space of what keys are made of: observations, flattened if they have parts."""
    if isinstance(space, _PLAIN):
        return space
    try:
        flat: gymnasium.Space[Any] = gymnasium.spaces.flatten_space(space)
    except NotImplementedError:
        flat = space
    if not isinstance(flat, gymnasium.spaces.Box):
        raise UsageError(
            f"observations of {space} cannot be flattened by Gymnasium, so no "
            "uncertainty can be kept of them: leave out or transform the part that is no "
            "Box or Discrete, for instance with gymnasium.wrappers.FilterObservation"
        )
    return flat


def _no_values(observations: np.ndarray) -> np.ndarray:
    raise UsageError("this uncertainty asks for an agent's values, which a wrapper does not see")


def _at_least_1(name: str, value: Any, otherwise: str) -> None:
    if value is None:
        return
    if not _is_whole(value) or value < 1:
        choices = f", {otherwise}" if otherwise else ""
        raise UsageError(f"{name} must be a whole number of at least 1{choices}, not {value!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
