"""LocalAccess: any agent begins some of its episodes at the most uncertain saved state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import gymnasium
import numpy as np

from uflp import spaces
from uflp.planning.history import History, history_of
from uflp.planning.planner import LocalPlanner
from uflp.planning.rules import RULES, Kind, Rule, RuleSettings, Sources, Start
from uflp.registry import unknown
from uflp.simulators.base import Simulator
from uflp.simulators.gymnasium import GymnasiumSimulator
from uflp.types import Snapshot, Transition, UsageError
from uflp.uncertainty import UNCERTAINTIES, Uncertainty

_PATIENCE = 100
"""Restarts in a row whose forced a0 ended the episode, after which the initial states must do."""


_PLAIN = (gymnasium.spaces.Box, gymnasium.spaces.Discrete)
"""Spaces of observations that have no parts."""


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
        planner: decides where episodes begin; it has the history, the uncertainty and the rule.
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
        self._forced = first_action == "forced"
        self._numbered = spaces.count(simulator.action_space) is not None
        self._first = getattr(simulator.action_space, "start", 0)
        self._transitions: list[Transition] = []
        self._observation: Any = None
        self._steps = 0
        self.restarts = 0
        if share_with is None:
            self._parts = _parts(
                simulator,
                uncertainty,
                settings,
                batch=batch,
                restart=restart,
                rule=rule,
                history_size=history_size,
                seed=seed or 0,
            )
        else:
            self._parts = share_with._parts
        history = self._parts.history
        if history.simulator != simulator.stamp:
            raise UsageError(f"{simulator.stamp} cannot share the history of {history.simulator}")
        self.planner = LocalPlanner(
            history=history,
            uncertainty=self._parts.uncertainty,
            rule=self._parts.rule,
            key_of=self._parts.key_of,
            p_init=p_init,
            checkpoint_period=checkpoint_period or (1 if simulator.snapshot_width else None),
            restart_limit=restart_limit,
        )

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
        for _ in range(_PATIENCE if seed is None else 0):
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
        """Takes one action, which is one query."""
        transition, info = self._query(action)
        return (
            transition.next_observation,
            transition.reward,
            transition.terminated,
            transition.truncated,
            info,
        )

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

    def _restart(self, start: Start, snapshot: Snapshot) -> tuple[Any, dict[str, Any]] | None:
        """Goes back; returns None where a forced a0 has ended the episode at once."""
        observation, info = self._simulator.restore(snapshot)
        self._begin(start, observation)
        action = self._first_action(start.action)
        if self._forced:
            transition, info = self._query(action)
            observation = transition.next_observation
            self._transitions.append(transition)
            if transition.terminated or transition.truncated:
                return None
        self.restarts += 1
        about = {"uflp/restart": True, "uflp/entry": start.entry, "uflp/first_action": action}
        return observation, {**info, **about}

    def _begin(self, start: Start, observation: Any) -> None:
        self._observation = observation
        self.planner.began(start, observation, self._simulator.mask, self._simulator.save)

    def _query(self, action: Any) -> tuple[Transition, dict[str, Any]]:
        """Makes one query; returns what came of it, and the info."""
        simulator, planner = self._simulator, self.planner
        observation, reward, terminated, truncated, info = simulator.step(action)
        self._steps += 1
        planner.visited(int(action) - self._first if self._numbered else 0)
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
        planner.reached(transition, simulator.save, final=final)
        if over:
            planner.ended(simulator.screen_score)
        return transition, info

    def _first_action(self, number: int | None) -> Any:
        """Returns a0; where actions have no numbers, one drawn from their space."""
        if self._numbered and number is not None:
            return number + self._first
        self.action_space.seed(int(self._rng.integers(2**31)))
        return self.action_space.sample()


class _Parts(NamedTuple):
    """What copies in one process may share; see `LocalPlanner`."""

    history: History
    uncertainty: Uncertainty | None
    rule: Rule
    key_of: Callable[[Any], Any] | None


def _parts(
    simulator: Simulator,
    uncertainty: Any,
    settings: dict[str, Any],
    *,
    batch: int | None,
    restart: Kind | None,
    rule: str | RuleSettings,
    history_size: int,
    seed: int,
) -> _Parts:
    """Makes a history, the uncertainty that scores it, and the rule that chooses from it."""
    counted = spaces.count(simulator.action_space)
    # Where actions have no numbers, the uncertainty is one of states alone.
    actions = counted or 1
    if restart == "pair" and counted is None:
        raise UsageError(
            f"actions of {simulator.action_space} have no numbers to compare pairs by: "
            'use restart="state", with which counts, covariance and rnd score states alone'
        )
    rule_settings: RuleSettings = RULES[rule]() if isinstance(rule, str) else rule
    scores: Uncertainty | None = None
    key_of: Callable[[Any], Any] | None = None
    if rule_settings.needs is not None:
        space = simulator.observation_space
        scores = _settings(uncertainty, settings).make(_key_space(space), actions, seed)
        key_of = _flattening(space, scores)
    history = history_of(simulator, scores, entries=history_size, key_of=key_of)
    pairs = counted is not None and scores is not None and scores.knows_actions
    sources = Sources(
        history=history,
        actions=actions,
        batch=batch,
        kind=restart or ("pair" if pairs else "state"),
        uncertainty=scores,
        predict=_no_values,
        td_error=None,
    )
    return _Parts(history, scores, rule_settings.make(sources), key_of)


def _flattening(
    space: gymnasium.Space[Any], uncertainty: Uncertainty
) -> Callable[[Any], Any] | None:
    """Returns what gives the key of an observation with parts; None for one without."""
    if isinstance(space, _PLAIN):
        return None
    return lambda seen: uncertainty.key_of(gymnasium.spaces.flatten(space, seen))


def _key_space(space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
    """Returns the space of what keys are made of: observations, flattened if they have parts."""
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


def _settings(uncertainty: Any, settings: dict[str, Any]) -> Any:
    """Returns the settings of a named uncertainty, or those that were given."""
    if not isinstance(uncertainty, str):
        return uncertainty
    usable = [name for name in UNCERTAINTIES if name != "ensemble-std"]
    if uncertainty == "ensemble-std":
        raise UsageError(
            "ensemble-std compares the values of an agent's ensemble, which a wrapper does not "
            f"see: choose {', '.join(usable)}"
        )
    if uncertainty not in usable:
        raise UsageError(unknown("uncertainty", uncertainty, usable))
    try:
        return UNCERTAINTIES[uncertainty](**settings)
    except TypeError as error:
        raise UsageError(f"{uncertainty} has no such setting: {error}") from error


def _no_values(observations: np.ndarray) -> np.ndarray:
    raise UsageError("this uncertainty asks for an agent's values, which a wrapper does not see")


def _generator(seed: int | None) -> np.random.Generator:
    if seed is not None and seed < 0:
        raise UsageError(f"seed must not be negative, not {seed}")
    return np.random.default_rng(seed)
