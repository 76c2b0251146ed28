"""LocalAccess: any agent begins some of its episodes at the most uncertain saved state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np

from uflp import spaces
from uflp.planning.rules import Kind, RuleSettings, Start
from uflp.simulators.base import Simulator
from uflp.simulators.gymnasium import GymnasiumSimulator, made
from uflp.types import Snapshot, Transition, UsageError
from uflp.wrappers.access_metrics import AccessCounters, Axis, ExplorationMap, metrics
from uflp.wrappers.access_settings import AccessSettings, generator
from uflp.wrappers.check import check_going_back
from uflp.wrappers.first_actions import ActionNumbers, ForcedTransitions
from uflp.wrappers.planner_file import load_planner, write_planner

PATIENCE = 100
"""Restarts in a row whose forced a0 ended the episode, after which the initial states must do."""


class LocalAccess(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Local access to any environment that can be saved, for any agent.

    `reset` begins at the initial-state distribution with probability `p_init`, and otherwise at the
    most uncertain saved state; `step` counts visits and saves states. The agent acts as always.

    The info of a reset has `uflp/restart` (whether it was one) and, if so, `uflp/entry` (the number
    of the snapshot in the history) and `uflp/first_action` (a0, what the paper would do there).

    Each copy has a history and an uncertainty of its own, also in vectors of environments; copies
    in one process may share those of the first with `share_with`. `LocalAccessVector` has one
    history for all copies, in this process or in others.

    Attributes:
        queries: steps so far, with those that were taken inside: forced first actions, and replays.
        restarts: episodes so far that began from a snapshot.
        planner: decides where episodes begin; it has the history, the uncertainty and the rule.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]] | str,
        uncertainty: Any = "counts",
        *,
        p_init: float = 0.2,
        batch: int | Literal["auto"] | None = "auto",
        restart: Kind | None = None,
        rule: str | RuleSettings = "uncertainty",
        first_action: Literal["free", "forced"] = "free",
        checkpoint_period: int | None = None,
        restart_limit: int | None = None,
        time_limit: str = "restart",
        history_size: int = 100_000,
        strategy: str = "auto",
        check: bool = True,
        axes: tuple[Axis, Axis] | None = None,
        seed: int | None = None,
        share_with: LocalAccess | None = None,
        **settings: Any,
    ):
        """Wrap an environment.

        Args:
            env: the environment, its Gymnasium id, or a function that makes one. `online` makes
                another one by the id or the function.
            uncertainty: `counts`, `covariance`, or settings with a `make` of their own; not kept
                where the rule needs none.
            p_init: probability that an episode begins at the initial-state distribution.
            batch: B, the snapshots drawn for a restart; None means the whole history. `auto` means
                that too where the search for the most uncertain entry is cheap, as with counts,
                and 32 elsewhere.
            restart: `pair` restarts at the most uncertain (s, a), `state` at the most uncertain s.
                None means pairs where a0 is forced and actions have numbers, else states: an agent
                that does not choose a0 would leave the same pair the most uncertain for good.
            rule: which saved states restarts go to: `uncertainty`, `uniform`, `return`,
                `go-explore`, or settings with a `make` of their own.
            first_action: `free` lets the agent choose it; `forced` takes a0 inside `reset`, and
                keeps its transition for `pop_transitions`.
            checkpoint_period: steps between two snapshots of an episode. None means 1 where a
                snapshot has a few bytes; elsewhere, where saving costs several steps, states are
                saved by novelty: when their cell is reached for the 1st, 2nd, 4th, 8th, … time,
                and every 64 steps; beyond a reserve of 256, one state in 8 at most.
            restart_limit: steps after which an episode that began with a restart is truncated; None
                lets it go on to its end.
            time_limit: what becomes of a limit that truncates: `restart` starts it anew at a
                restart, `continue` lets it go on from the saved step, and another name is that of
                the attribute that counts steps; see `GymnasiumSimulator`.
            history_size: snapshots that the history holds.
            strategy: how the environment is saved; see `GymnasiumSimulator`.
            check: whether to find out first, in a few dozen steps, if the environment goes back to
                where it was saved. They count as no queries.
            axes: two numbers of the observation that `render_exploration` draws, such as (0, 1).
            seed: of the restarts; None leaves it to the first `reset` with a seed, or to chance.
            share_with: another copy, whose history, uncertainty and save schedule are used.
            **settings: of the uncertainty, such as `bins`.

        Raises:
            UsageError: a `ValueError`, for an argument that is wrong, or for an environment that
                cannot be saved. An environment that was made here is closed then.
        """
        access = AccessSettings(
            uncertainty=uncertainty,
            p_init=p_init,
            batch=batch,
            restart=restart,
            rule=rule,
            first_action=first_action,
            checkpoint_period=checkpoint_period,
            restart_limit=restart_limit,
            history_size=history_size,
            uncertainty_settings=settings,
        )
        if share_with is not None and not isinstance(share_with, LocalAccess):
            raise UsageError(f"share_with is another LocalAccess, or None, not {share_with!r}")
        if not isinstance(check, bool):
            raise UsageError(f"check is True or False, not {check!r}")
        self._access = access
        self._seed = 0 if seed is None else seed
        self._rng = generator(seed)
        self._make = _factory(env)
        given: Any = env if self._make is None else self._make()
        try:
            simulator = as_simulator(given, strategy, time_limit)
            super().__init__(simulator)
            self._map = ExplorationMap(simulator.observation_space, axes)
            if share_with is None:
                self._parts = access.make(simulator, self._seed)
            else:
                self._parts = share_with._parts
            history = self._parts.history
            if history.simulator != simulator.stamp:
                raise UsageError(
                    f"{simulator.stamp} cannot share the history of {history.simulator}"
                )
            if check and share_with is None:
                check_going_back(simulator)
        except Exception:
            if self._make is not None and isinstance(given, gymnasium.Env):
                given.close()
            raise
        self._simulator: Simulator = simulator
        self._identity = access.identity(simulator, self._seed)
        self._forced = first_action == "forced"
        self._numbers = ActionNumbers(simulator.action_space)
        self._forced_transitions = ForcedTransitions()
        self._observation: Any = None
        self._running = False
        self._counters = AccessCounters(self._parts)
        self.planner = access.planner(self._parts, self._counters)

    @property
    def queries(self) -> int:
        """Steps so far, with those that were taken inside."""
        return self._counters.steps + self._simulator.replayed

    @property
    def restarts(self) -> int:
        """Episodes so far that began from a snapshot."""
        return self._counters.restarts

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; with a seed, always at the initial-state distribution."""
        if seed is not None:
            self._rng = generator(seed)
        for _ in range(PATIENCE if seed is None else 0):
            start = self.planner.start(self._rng)
            if start.snapshot is None:
                break
            begun = self._restart(start, start.snapshot)
            if begun is not None:
                return begun
        observation, info = self._simulator.reset(seed=seed, options=options)
        self._begin(Start(), observation)
        return observation, {**info, "uflp/restart": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action, which is one query."""
        if not self._running:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        spaces.require_finite(action)
        transition, info = self._query(action)
        return (
            transition.next_observation,
            transition.reward,
            transition.terminated,
            transition.truncated,
            info,
        )

    def pop_transitions(self) -> list[Transition]:
        """Return the transitions of forced first actions since the last call, and forget them.

        Up to 1,000 are kept; then the oldest are dropped, and one warning says so.
        """
        return self._forced_transitions.pop()

    def metrics(self) -> dict[str, Any]:
        """Return what was found and what it took, so far.

        `queries`, `episodes`, `restarts`; `rewarded_queries` (steps with a positive reward) and
        `first_reward` (the number of the first, or None); `terminated` (episodes that the
        environment terminated); `cells` that were reached (None where nothing counts them);
        `deepest_start` (most steps from an initial state to a restart, across restarts); and
        `history_size`. Cells and history are those of all copies that share them.
        """
        return metrics(self._parts, [self._counters], self.queries)

    def render_exploration(self, path: str | Path | None = None) -> np.ndarray:
        """Draw where it has been and where it restarted, by the two numbers that `axes` named.

        Args:
            path: picture file to write as well.

        Returns:
            The picture, uint8 [height, width, 3].
        """
        return self._map.render(path)

    def save_planner(self, path: str | Path) -> None:
        """Write history, uncertainty and rule to a file, for `load_planner`.

        The file holds plain data, no code. The episode under way is not part of it.
        """
        write_planner(Path(path), self.planner, self._parts, self._identity)

    def load_planner(self, path: str | Path) -> None:
        """Take history, uncertainty and rule from a file; the next call must be `reset`.

        The environment and all settings that decide what is saved must be equal to those of the
        wrapper that wrote it. Reading executes nothing. Counters go on from where they are here.

        Raises:
            UsageError: if the file is damaged or does not fit; then nothing has changed.
        """
        load_planner(
            Path(path),
            self.planner,
            self._parts,
            self._identity,
            self._access,
            self._simulator,
            self._seed,
        )
        self._running = False

    def online(self) -> gymnasium.Env[Any, Any]:
        """Return the same environment anew, which never restarts: for evaluation."""
        if self._make is not None:
            return self._make()
        spec = self._simulator.spec
        try:
            if spec is None:
                raise ValueError("it is not registered")
            return gymnasium.make(spec)
        except (ValueError, gymnasium.error.Error) as error:
            raise UsageError(
                f"{self._simulator} cannot be made anew ({error}): hand LocalAccess a function "
                "that makes the environment, such as LocalAccess(lambda: MyEnv())"
            ) from error

    def _restart(self, start: Start, snapshot: Snapshot) -> tuple[Any, dict[str, Any]] | None:
        """Go back; return None where a forced a0 has ended the episode at once."""
        observation, info = self._simulator.restore(snapshot)
        self._begin(start, observation)
        action = self._numbers.first(start.action, self._rng)
        if self._forced:
            transition, info = self._query(action)
            observation = transition.next_observation
            self._forced_transitions.add(transition)
            if transition.terminated or transition.truncated:
                return None
        self._counters.restarts += 1
        about = {"uflp/restart": True, "uflp/entry": start.entry, "uflp/first_action": action}
        return observation, {**info, **about}

    def _begin(self, start: Start, observation: Any) -> None:
        self._observation = observation
        self._running = True
        self._counters.began(start, observation, self.queries)
        self._map.began(start, observation)
        self.planner.began(start, observation, self._simulator.mask, self._simulator.save)

    def _query(self, action: Any) -> tuple[Transition, dict[str, Any]]:
        """Make one query; return what came of it, and the info."""
        simulator, planner = self._simulator, self.planner
        observation, reward, terminated, truncated, info = simulator.step(action)
        planner.visited(self._numbers.number_of(action))
        final = terminated or truncated
        over = final or planner.at_limit
        transition = Transition(
            self._observation,
            action,
            reward,
            observation,
            terminated,
            truncated or (over and not final),
            next_mask=simulator.mask,
        )
        self._observation = observation
        self._counters.stepped(transition, self._counters.steps + 1)
        self._map.visit(observation)
        planner.reached(transition, simulator.save, final=final)
        if over:
            self._running = False
            planner.ended(simulator.screen_score)
        return transition, info


def _factory(env: Any) -> Callable[[], Any] | None:
    """Return what makes the environment; None where it is given."""
    if isinstance(env, str):
        return lambda: made(env)
    return None if isinstance(env, gymnasium.Env) or not callable(env) else env


def as_simulator(env: Any, strategy: str, time_limit: str) -> Simulator:
    """Return an environment as a simulator."""
    if not isinstance(env, gymnasium.Env) and hasattr(env, "num_envs"):
        raise UsageError(
            f"{type(env).__name__} is a vector of environments: hand LocalAccessVector a function "
            "that makes one of them, and their number"
        )
    layer = env
    while isinstance(layer, gymnasium.Wrapper):
        if isinstance(layer, LocalAccess):
            raise UsageError(f"{env} has local access already")
        layer = layer.env
    if isinstance(env, Simulator):
        return env
    return GymnasiumSimulator(env, strategy=strategy, time_limit=time_limit)
