"""Local access for several copies of an environment, with one history and one uncertainty for all.

The copies step, save and restore; the decisions are made here. A state that is to be saved is saved
by its copy just before the next thing that this does, so that saving needs no message of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from uflp import spaces
from uflp.planning.rules import Start
from uflp.simulators.base import Simulator
from uflp.simulators.gymnasium import made
from uflp.types import Snapshot, Transition, UsageError
from uflp.wrappers.access_metrics import AccessCounters, Axis, ExplorationMap, metrics
from uflp.wrappers.access_settings import AccessSettings, SharedParts, generator
from uflp.wrappers.check import check_going_back
from uflp.wrappers.first_actions import ActionNumbers, ForcedTransitions
from uflp.wrappers.local_access import PATIENCE, as_simulator
from uflp.wrappers.planner_file import load_planner, write_planner
from uflp.wrappers.workers import Begun, Command, InProcess, Processes, Stepped, Workers


class Step(NamedTuple):
    """Ask a copy for a step."""

    action: Any


class Begin(NamedTuple):
    """Ask a copy for an episode; with a seed, one at the initial-state distribution."""

    seed: int | None = None
    options: dict[str, Any] | None = None


class CopyResult(NamedTuple):
    """Outcome of a copy's step, or of the beginning of an episode (no reward, no end)."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class _Copy:
    """Record of one copy.

    Attributes:
        observation: what it shows.
        running: whether an episode is under way.
        unsaved: whether its present state is to be saved first.
        mask: which actions this state allows.
        score: to tell the rule of once it is saved, where the rollout has ended there.
        replayed: steps that its restores have cost.
        forced_transitions: of its first actions.
    """

    def __init__(self, access: AccessSettings, parts: SharedParts):
        self.counters = AccessCounters(parts)
        self.planner = access.planner(parts, self.counters)
        self.observation: Any = None
        self.running = False
        self.unsaved = False
        self.mask: np.ndarray | None = None
        self.score: float | None = None
        self.replayed = 0
        self.forced_transitions = ForcedTransitions()

    def saved(self, snapshot: Snapshot) -> None:
        """Add the present state to the history, now that its snapshot has come."""
        self.planner.add(self.mask, lambda: snapshot)
        self.unsaved = False
        if self.score is not None:
            self.planner.ended(self.score)
            self.score = None


class SharedAccess:
    """Copies of an environment that decide together where episodes begin.

    Attributes:
        simulator: one more copy, in this process, which is never stepped after the check.
        copies: how many there are.
    """

    def __init__(
        self,
        make_env: Callable[[], gymnasium.Env[Any, Any]] | str,
        copies: int,
        *,
        processes: bool | int,
        context: str | None,
        time_limit: str,
        strategy: str,
        check: bool,
        axes: tuple[Axis, Axis] | None,
        seed: int | None,
        options: Mapping[str, Any],
    ):
        """Make the copies; see `LocalAccessVector`."""
        if isinstance(copies, bool) or not isinstance(copies, int | np.integer) or copies < 1:
            raise UsageError(f"num_envs must be a whole number of at least 1, not {copies!r}")
        if not isinstance(processes, int | np.integer) or processes < 0:
            raise UsageError(f"processes is True, False or a whole number, not {processes!r}")
        if not isinstance(make_env, str) and (
            not callable(make_env) or isinstance(make_env, gymnasium.Env)
        ):
            raise UsageError(
                "make_env is a function that makes one environment, or the id of one, not "
                f"{make_env if isinstance(make_env, gymnasium.Env) else type(make_env).__name__}"
            )
        self._access = _settings(options)
        self._rng = generator(seed)
        self._seed = 0 if seed is None else seed
        self.copies = int(copies)
        self.make_env = (lambda: made(make_env)) if isinstance(make_env, str) else make_env

        def make() -> Simulator:
            env = self.make_env()
            try:
                return as_simulator(env, strategy, time_limit)
            except Exception:
                if isinstance(env, gymnasium.Env):
                    env.close()
                raise

        self.simulator = make()
        self._workers: Workers = InProcess([])
        try:
            self._map = ExplorationMap(self.simulator.observation_space, axes)
            self._parts = self._access.make(self.simulator, self._seed)
            self._workers = self._make_workers(make, processes, context)
            if check:
                self._check(make)
        except BaseException:
            self.close()
            raise
        self._identity = self._access.identity(self.simulator, self._seed)
        self._copies = [_Copy(self._access, self._parts) for _ in range(self.copies)]
        self._steps = 0
        self._forced = self._access.first_action == "forced"
        self._numbers = ActionNumbers(self.simulator.action_space)

    def reseed(self, seed: int) -> None:
        """Let the restarts follow from a seed."""
        self._rng = generator(seed)

    def do(self, requests: Mapping[int, Step | Begin]) -> dict[int, CopyResult]:
        """Let some copies step, and let others begin an episode, all at a time.

        Args:
            requests: by the number of the copy.
        """
        results: dict[int, CopyResult] = {}
        waiting = dict(requests)
        for attempt in range(PATIENCE + 1):
            starts: dict[int, Start] = {}
            commands: dict[int, Command] = {}
            for number, request in waiting.items():
                copy = self._copies[number]
                if isinstance(request, Step):
                    if not copy.running:
                        raise gymnasium.error.ResetNeeded("call reset() before step()")
                    spaces.require_finite(request.action)
                    commands[number] = Command("step", copy.unsaved, request.action)
                else:
                    seeded = request.seed is not None or attempt == PATIENCE
                    starts[number] = Start() if seeded else copy.planner.start(self._rng)
                    commands[number] = self._beginning(starts[number], request, copy.unsaved)
            for number, (snapshot, outcome) in self._workers.do(commands):
                copy = self._copies[number]
                if snapshot is not None:
                    copy.saved(snapshot)
                request = waiting[number]
                if isinstance(request, Step):
                    results[number] = self._stepped(copy, request.action, outcome)
                else:
                    begun = self._begun(copy, starts[number], commands[number], outcome)
                    if begun is not None:
                        results[number] = begun
            waiting = {number: one for number, one in waiting.items() if number not in results}
            if not waiting:
                break
        return results

    @property
    def queries(self) -> int:
        """Steps of all copies so far, with those that were taken inside."""
        return self._steps + sum(copy.replayed for copy in self._copies)

    def metrics(self) -> dict[str, Any]:
        """Return what all copies have done so far."""
        return metrics(self._parts, [copy.counters for copy in self._copies], self.queries)

    def render_exploration(self, path: str | Path | None) -> np.ndarray:
        """Draw where all copies have been."""
        return self._map.render(path)

    def save_planner(self, path: str | Path) -> None:
        """Write history, uncertainty and rule to a file."""
        unsaved = [number for number, copy in enumerate(self._copies) if copy.unsaved]
        saving = {number: Command("save", True) for number in unsaved}
        for number, (snapshot, _) in self._workers.do(saving):
            assert snapshot is not None
            self._copies[number].saved(snapshot)
        write_planner(Path(path), self._copies[0].planner, self._parts, self._identity)

    def load_planner(self, path: str | Path) -> None:
        """Take history, uncertainty and rule from a file; all copies must begin anew."""
        load_planner(
            Path(path),
            self._copies[0].planner,
            self._parts,
            self._identity,
            self._access,
            self.simulator,
            self._seed,
        )
        for copy in self._copies:
            copy.running = copy.unsaved = False

    def pop_transitions(self, number: int) -> list[Transition]:
        """Return the transitions of forced first actions of a copy, and forget them."""
        return self._copies[number].forced_transitions.pop()

    def call(self, numbers: list[int], name: str, arguments: Any, keywords: Any) -> list[Any]:
        """Call a method of some copies, or get an attribute."""
        command = Command("call", False, (name, arguments, keywords))
        done = dict(self._workers.do(dict.fromkeys(numbers, command)))
        return [done[number].outcome for number in numbers]

    def close(self) -> None:
        """Close all copies."""
        self._workers.close()
        self.simulator.close()

    def _make_workers(
        self, make: Callable[[], Simulator], processes: bool | int, context: str | None
    ) -> Workers:
        if not processes:
            return InProcess([make() for _ in range(self.copies)])
        if not self.simulator.portable:
            raise UsageError(
                f"snapshots of {self.simulator} are copies in memory (strategy copy), which cannot "
                "travel between processes: use processes=False"
            )
        # `True` is a number too, and means as many as can work at a time.
        count = len(os.sched_getaffinity(0)) if processes is True else int(processes)
        return Processes(make, self.copies, min(count, self.copies), context, self.simulator.stamp)

    def _check(self, make: Callable[[], Simulator]) -> None:
        """Check that one copy can go where another one was saved."""
        other = make()
        try:
            check_going_back(self.simulator, other)
        finally:
            other.close()

    def _beginning(self, start: Start, request: Begin, save: bool) -> Command:
        if start.snapshot is None:
            return Command("reset", save, (request.seed, request.options))
        first = (self._numbers.first(start.action, self._rng),) if self._forced else None
        return Command("restore", save, start.snapshot, first)

    def _begun(
        self, copy: _Copy, start: Start, command: Command, begun: Begun
    ) -> CopyResult | None:
        """Note the beginning of an episode; return None where a forced a0 has ended it at once."""
        copy.observation = begun.observation
        copy.running = True
        copy.replayed = begun.replayed
        copy.counters.began(start, begun.observation, self._steps)
        self._map.began(start, begun.observation)
        copy.planner.begin(start, begun.observation)
        copy.mask = begun.mask
        if start.snapshot is None:
            copy.unsaved = copy.planner.history is not None
            return CopyResult(
                begun.observation, 0.0, False, False, {**begun.info, "uflp/restart": False}
            )
        restored = start.snapshot
        copy.planner.add(begun.mask, lambda: restored)
        observation, info = begun.observation, begun.info
        if command.first_action is not None:
            assert begun.stepped is not None
            action = command.first_action[0]
            result = self._stepped(copy, action, begun.stepped, forced=True)
            if result.terminated or result.truncated:
                return None
            observation, info = result.observation, result.info
        else:
            action = self._numbers.first(start.action, self._rng)
        copy.counters.restarts += 1
        about = {"uflp/restart": True, "uflp/entry": start.entry, "uflp/first_action": action}
        return CopyResult(observation, 0.0, False, False, {**info, **about})

    def _stepped(self, copy: _Copy, action: Any, step: Stepped, forced: bool = False) -> CopyResult:
        """Tell the planner of a step."""
        planner = copy.planner
        planner.visited(self._numbers.number_of(action))
        final = step.terminated or step.truncated
        over = final or planner.at_limit
        truncated = step.truncated or (over and not final)
        transition = Transition(
            copy.observation,
            action,
            step.reward,
            step.observation,
            step.terminated,
            truncated,
            next_mask=step.mask,
        )
        copy.observation = step.observation
        copy.mask = step.mask
        self._steps += 1
        copy.counters.stepped(transition, self._steps)
        self._map.visit(step.observation)
        copy.unsaved = planner.moved(transition, final=final)
        if over:
            copy.running = False
            if copy.unsaved:
                copy.score = step.screen_score
            else:
                planner.ended(step.screen_score)
        if forced:
            copy.forced_transitions.add(transition)
        return CopyResult(step.observation, step.reward, step.terminated, truncated, step.info)


def _settings(options: Mapping[str, Any]) -> AccessSettings:
    """Return the settings among some options; what is left are settings of the uncertainty."""
    names = {one.name for one in fields(AccessSettings)} - {"uncertainty_settings"}
    own = {name: value for name, value in options.items() if name in names}
    rest = {name: value for name, value in options.items() if name not in names}
    return AccessSettings(**own, uncertainty_settings=rest)
