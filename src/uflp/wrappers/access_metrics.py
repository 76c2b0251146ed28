"""Numbers and a picture of what local access has done so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from uflp.planning.observers import Observer
from uflp.planning.rules import Start
from uflp.types import Transition, UsageError
from uflp.wrappers.access_settings import SharedParts

Axis = int | str | tuple[str | int, ...]
"""One number of an observation: its index, or the key of its part and the index in it."""

_POINTS = 1 << 15


class AccessCounters(Observer):
    """Counters of one copy of an environment.

    Attributes:
        steps: taken so far.
        episodes: begun so far.
        restarts: of them that began from a snapshot.
        rewarded: steps whose reward was positive.
        first_reward: number of the first of them, None before.
        terminated: episodes that the environment terminated.
        deepest_start: most steps from an initial state to a restart, across restarts.
    """

    def __init__(self, parts: SharedParts):
        """Count nothing yet.

        Args:
            parts: of the planner, which copies may share.
        """
        self.steps = 0
        self.episodes = 0
        self.restarts = 0
        self.rewarded = 0
        self.first_reward: int | None = None
        self.terminated = 0
        self.deepest_start = 0
        self._parts = parts
        self._depth = 0

    def began(self, start: Start, observation: Any, queries: int) -> None:
        """Note where an episode begins."""
        self.episodes += 1
        self._depth = 0
        if start.snapshot is not None and start.entry is not None:
            self._depth = self._parts.depths.get(start.entry, 0)
            self.deepest_start = max(self.deepest_start, self._depth)

    def stepped(self, transition: Transition, queries: int) -> None:
        """Count a step."""
        self.steps += 1
        self._depth += 1
        if transition.reward > 0:
            self.rewarded += 1
            if self.first_reward is None:
                self.first_reward = queries
        if transition.terminated:
            self.terminated += 1

    def saved(self, entry: int | None) -> None:
        """Note how deep a saved state is."""
        depths, history = self._parts.depths, self._parts.history
        if entry is not None:
            depths[entry] = self._depth
        # Evicted entries are dropped many at a time: looking for them costs as much as they are.
        if len(depths) > 2 * len(history) + 1000:
            for old in [one for one in depths if one < history.oldest]:
                del depths[old]


def metrics(parts: SharedParts, counters: Sequence[AccessCounters], queries: int) -> dict[str, Any]:
    """Return what several copies that share their parts have done so far.

    Args:
        parts: of the planners.
        counters: of each copy.
        queries: of all copies.
    """
    first = [one.first_reward for one in counters if one.first_reward is not None]
    return {
        "queries": queries,
        "episodes": sum(one.episodes for one in counters),
        "restarts": sum(one.restarts for one in counters),
        "rewarded_queries": sum(one.rewarded for one in counters),
        "first_reward": min(first, default=None),
        "terminated": sum(one.terminated for one in counters),
        "cells": parts.cells,
        "deepest_start": max(one.deepest_start for one in counters),
        "history_size": len(parts.history),
    }


class ExplorationMap:
    """Map of where an environment has been and restarted, by two numbers of its observations.

    It keeps up to 32,768 points of each kind. When there are more, every second one is dropped and
    of the following ones half as many are kept.
    """

    def __init__(self, space: gymnasium.Space[Any], axes: tuple[Axis, Axis] | None):
        """Make an empty map.

        Args:
            space: of the observations.
            axes: the two numbers; None keeps nothing.
        """
        self._axes: list[tuple[str | int, ...]] = []
        if axes is not None:
            if not isinstance(axes, tuple | list) or len(axes) != 2:
                raise UsageError(f"axes names two numbers of an observation, not {axes!r}")
            self._axes = [axis if isinstance(axis, tuple) else (axis,) for axis in axes]
            for axis in self._axes:
                _check_axis(space, axis)
        self._visits = _Thinned()
        self._restarts = _Thinned()

    @property
    def kept(self) -> bool:
        """Whether two numbers were named."""
        return bool(self._axes)

    def began(self, start: Start, observation: Any) -> None:
        """Note a restart."""
        if self._axes and start.snapshot is not None:
            self._restarts.add(self._point(observation))

    def visit(self, observation: Any) -> None:
        """Note a state that a step led to."""
        if self._axes:
            self._visits.add(self._point(observation))

    def render(self, path: str | Path | None) -> np.ndarray:
        """Draw the map.

        Args:
            path: picture file to write as well.

        Returns:
            The picture, uint8 [height, width, 3].
        """
        if not self._axes:
            raise UsageError(
                "name the two numbers of the observation to draw when you wrap the environment, "
                "such as LocalAccess(env, axes=(0, 1))"
            )
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 5), dpi=120, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        visits, numbers = self._visits.points()
        if len(visits):
            x, y = visits.T
            dots = axes.scatter(x, y, c=numbers, s=3, linewidths=0, label="visited")
            figure.colorbar(dots, label="step")
        restarts, _ = self._restarts.points()
        if len(restarts):
            x, y = restarts.T
            axes.scatter(x, y, s=14, facecolors="none", edgecolors="red", label="restarts")
        if len(visits) or len(restarts):
            axes.legend(loc="upper right")
        first, second = (".".join(map(str, axis)) for axis in self._axes)
        axes.set_xlabel(f"observation {first}")
        axes.set_ylabel(f"observation {second}")
        if path is not None:
            figure.savefig(path)
        canvas.draw()
        return np.array(np.asarray(canvas.buffer_rgba())[..., :3])

    def _point(self, observation: Any) -> tuple[float, float]:
        one, two = self._axes
        return _number_at(observation, one), _number_at(observation, two)


class _Thinned:
    """Points in the order in which they came, thinned out when there are too many."""

    def __init__(self) -> None:
        self._points: list[tuple[float, float]] = []
        self._count = 0
        self._stride = 1

    def add(self, point: tuple[float, float]) -> None:
        """Add a point, if its turn has come."""
        if self._count % self._stride == 0:
            self._points.append(point)
            if len(self._points) >= _POINTS:
                self._points = self._points[::2]
                self._stride *= 2
        self._count += 1

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the points, float [n, 2], and the number of each."""
        return (
            np.array(self._points, np.float64).reshape(-1, 2),
            np.arange(len(self._points)) * self._stride,
        )


def _check_axis(space: gymnasium.Space[Any], axis: tuple[str | int, ...]) -> None:
    """Refuse what is no number of an observation, with an example of one."""
    sample = space.sample()
    try:
        _number_at(sample, axis)
    except (TypeError, KeyError, IndexError, ValueError) as error:
        example = repr(next(iter(sample))) if isinstance(sample, Mapping) else "0"
        named = axis[0] if len(axis) == 1 else axis
        raise UsageError(
            f"{named!r} names no number in observations of {space}: give an index such as "
            f"{example}, or the key of a part and an index in it"
        ) from error


def _number_at(observation: Any, axis: tuple[str | int, ...]) -> float:
    value = observation
    for step in axis:
        value = value[step]
    return float(value)
