"""LocalAccess: any agent begins some of its episodes at the most uncertain saved state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import gymnasium
import numpy as np

from uflp.collection.rules import Kind, RuleSettings
from uflp.simulators.base import Simulator
from uflp.simulators.gymnasium import GymnasiumSimulator
from uflp.types import Transition, UsageError
from uflp.wrappers.memory import LocalMemory

_PATIENCE = 100
"""Restarts in a row whose forced a0 ended the episode, after which the initial states must do."""


class LocalAccess(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Local access to any environment that can be saved, for any agent.

    `reset` begins at the initial-state distribution with probability `p_init`, and otherwise at the
    most uncertain saved state; `step` counts visits and saves states. The agent acts as always. Its
    own time limit goes on from the restored step, as long as it is inside this wrapper.

    The info of a reset has `uflp/restart` (whether it was one) and, if so, `uflp/entry` (the number
    of the snapshot in the history) and `uflp/first_action` (a0, what the paper would do there).

    Each copy has a history and an uncertainty of its own, also in vectors of environments; copies
    in one process may share those of the first with `share_with`.

    Attributes:
        queries: steps so far, with those that were taken inside: forced first actions, and replays.
        restarts: episodes so far that began from a snapshot.
        memory: the history, the uncertainty and the rule.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]],
        uncertainty: Any = "counts",
        *,
        p_init: float = 0.2,
        batch: int | None = 32,
        restart: Kind | None = None,
        rule: str | RuleSettings = "uncertainty",
        first_action: Literal["free", "forced"] = "free",
        checkpoint_period: int | None = None,
        restart_limit: int | None = None,
        history_size: int = 100_000,
        strategy: str = "auto",
        seed: int | None = None,
        share_with: LocalAccess | None = None,
        **settings: Any,
    ):
        """Wraps an environment.

        Args:
            env: the environment, or a function that makes one (which `online` then calls).
            uncertainty: `counts`, `covariance`, or settings with a `make` of their own; not kept
                where the rule needs none.
            p_init: probability that an episode begins at the initial-state distribution.
            batch: B, the snapshots drawn for a restart; None means the whole history.
            restart: `pair` restarts at the most uncertain (s, a), `state` at the most uncertain s;
                None means pairs where actions have numbers.
            rule: which saved states restarts go to: `uncertainty`, `uniform`, `return`,
                `go-explore`, or settings with a `make` of their own.
            first_action: `free` lets the agent choose it; `forced` takes a0 inside `reset`, and
                keeps its transition for `pop_transitions`.
            checkpoint_period: steps between two snapshots of an episode. None means 1 where a
                snapshot has a few bytes; elsewhere, where saving costs several steps, states are
                saved 1, 4, 16, 64, … steps after the episode began or was restored.
            restart_limit: steps after which an episode that began with a restart is truncated; None
                lets it go on to its end.
            history_size: snapshots that the history holds.
            strategy: how the environment is saved; see `GymnasiumSimulator`.
            seed: of the restarts; None leaves it to the first `reset` with a seed, or to chance.
            share_with: another copy, whose history and uncertainty are used.
            **settings: of the uncertainty, such as `bins`.
        """
        if not 0 <= p_init <= 1:
            raise UsageError(f"p_init must lie in [0, 1], not {p_init}")
        if first_action not in ("free", "forced"):
            raise UsageError(f"first_action is 'free' or 'forced', not {first_action!r}")
        if restart not in (None, *get_args(Kind)):
            raise UsageError(f"restart is 'pair', 'state' or None, not {restart!r}")
        at_least_one = {
            "batch": batch,
            "checkpoint_period": checkpoint_period,
            "restart_limit": restart_limit,
        }
        for name, value in at_least_one.items():
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1 or None, not {value}")
        self._make = None if isinstance(env, gymnasium.Env) or not callable(env) else env
        made: Any = env if self._make is None else self._make()
        if not isinstance(made, Simulator):
            made = GymnasiumSimulator(made, strategy=strategy)
        simulator: Simulator = made
        super().__init__(simulator)
        self._simulator: Simulator = simulator
        self._rng = _generator(seed)
        self._p_init = p_init
        self._forced = first_action == "forced"
        self._period = checkpoint_period or (1 if simulator.snapshot_width else None)
        self._restart_limit = restart_limit
        self._first = getattr(simulator.action_space, "start", 0)
        self._transitions: list[Transition] = []
        self._steps = 0
        self.restarts = 0
        self._key: Any = None
        self._length = 0
        self._limit: int | None = None
        self._next_save = 0
        self._entries: list[int] = []
        self._saved: Any = None
        self.memory: LocalMemory = (
            LocalMemory(
                simulator,
                uncertainty,
                settings,
                batch=batch,
                restart=restart,
                rule=rule,
                history_size=history_size,
                seed=seed or 0,
            )
            if share_with is None
            else share_with.memory
        )
        if self.memory.history.simulator != simulator.stamp:
            raise UsageError(
                f"{simulator.stamp} cannot share the history of {self.memory.history.simulator}"
            )
        self._numbered = self.memory.actions > 1

    @property
    def queries(self) -> int:
        """Steps so far, with those that were taken inside."""
        return self._steps + self._simulator.replayed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode; with a seed, always at the initial-state distribution."""
        if seed is not None:
            self._rng = _generator(seed)
        for _ in range(_PATIENCE if seed is None and len(self.memory.history) else 0):
            if self._rng.random() <= self._p_init:
                break
            begun = self._restart()
            if begun is not None:
                return begun
        observation, info = self._simulator.reset(seed=seed, options=options)
        self._begin(observation, limit=None)
        return observation, {**info, "uflp/restart": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes one action, which is one query."""
        result = self._simulator.step(action)
        self._steps += 1
        self._length += 1
        final = result[2] or result[3]
        over = final or self._length == self._limit
        if over and not final:
            result = (*result[:3], True, result[4])
        memory = self.memory
        memory.observe(self._key, int(action) - self._first if self._numbered else 0)
        if self._saved is not None:
            self._left(action, *result[:4])
        if not final:
            self._key = memory.key_of(result[0])
            if self._length == self._next_save:
                self._save(result[0])
                self._next_save += self._period or 3 * self._length
        if over:
            memory.ended(self._entries, self._simulator.screen_score)
        return result

    def pop_transitions(self) -> list[Transition]:
        """Returns the transitions of forced first actions since the last call, and forgets them."""
        popped, self._transitions = self._transitions, []
        return popped

    def online(self) -> gymnasium.Env[Any, Any]:
        """Returns the same environment anew, which never restarts: for evaluation."""
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

    def _restart(self) -> tuple[Any, dict[str, Any]] | None:
        """Goes back; returns None where a forced a0 has ended the episode at once."""
        start = self.memory.rule.choose(self._rng)
        assert start.entry is not None
        snapshot = self.memory.history.fetch(start.entry)
        assert snapshot is not None, "a rule chose an entry that the history has evicted"
        observation, info = self._simulator.restore(snapshot)
        self._begin(observation, limit=self._restart_limit)
        action = self._first_action(start.action)
        if self._forced:
            before = observation
            observation, reward, terminated, truncated, info = self.step(action)
            self._transitions.append(
                Transition(
                    *(before, action, reward, observation, terminated, truncated),
                    next_mask=self._simulator.mask,
                )
            )
            if terminated or truncated:
                return None
        self.restarts += 1
        about = {"uflp/restart": True, "uflp/entry": start.entry, "uflp/first_action": action}
        return observation, {**info, **about}

    def _begin(self, observation: Any, limit: int | None) -> None:
        """Adds s0 to the history; the episode is truncated after `limit` steps, if it has one."""
        self._key = self.memory.key_of(observation)
        self._length = 0
        self._limit = limit
        self._next_save = self._period or 1
        self._entries = []
        self._save(observation)

    def _save(self, observation: Any) -> None:
        """Adds the present state to the history."""
        self._entries.append(
            self.memory.add(self._simulator.save(), self._key, self._simulator.mask)
        )
        self._saved = observation

    def _left(self, action: Any, seen: Any, reward: float, over: bool, cut: bool) -> None:
        """Tells the rule what happened in the state that was saved last."""
        entry = self._entries[-1]
        transition = Transition(self._saved, action, reward, seen, over, cut)
        if entry >= self.memory.history.oldest:  # other copies may have added more since
            self.memory.rule.left(entry, transition)
        self._saved = None

    def _first_action(self, number: int | None) -> Any:
        """Returns a0; where actions have no numbers, one drawn from their space."""
        if self._numbered and number is not None:
            return number + self._first
        self.action_space.seed(int(self._rng.integers(2**31)))
        return self.action_space.sample()


def _generator(seed: int | None) -> np.random.Generator:
    if seed is not None and seed < 0:
        raise UsageError(f"seed must not be negative, not {seed}")
    return np.random.default_rng(seed)
