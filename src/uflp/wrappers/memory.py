"""What `LocalAccess` remembers, which several copies in one process may share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from uflp import spaces
from uflp.collection.rules import RULES, Kind, Rule, RuleSettings, Sources
from uflp.collection.snapshots import history_of
from uflp.registry import unknown
from uflp.simulators import Simulator
from uflp.types import Snapshot, UsageError
from uflp.uncertainty import UNCERTAINTIES, Uncertainty


class LocalMemory:
    """A history, the uncertainty that scores it, and the rule that chooses from it.

    Attributes:
        history: the snapshots.
        uncertainty: scores states, None where the rule needs none.
        observe: lets the uncertainty observe a query.
        rule: chooses where a rollout begins.
        key_of: gives the key of an observation, which is flattened first if it has parts.
        actions: how many actions the uncertainty tells apart; 1 where they are not numbered, which
            makes it one of states alone.
    """

    def __init__(
        self,
        simulator: Simulator,
        uncertainty: Any,
        settings: dict[str, Any],
        *,
        batch: int | None,
        restart: Kind | None,
        rule: str | RuleSettings,
        history_size: int,
        seed: int,
    ):
        self._space = simulator.observation_space
        self._flatten = not isinstance(
            self._space, gymnasium.spaces.Box | gymnasium.spaces.Discrete
        )
        counted = spaces.count(simulator.action_space)
        numbered = counted is not None
        self.actions = counted or 1
        if restart == "pair" and not numbered:
            raise UsageError(
                f"actions of {simulator.action_space} have no numbers to compare pairs by: "
                'use restart="state", with which counts, covariance and rnd score states alone'
            )
        rule_settings: RuleSettings = RULES[rule]() if isinstance(rule, str) else rule
        self.uncertainty: Uncertainty | None = None
        # Once a step: the way there is as short as it can be.
        self.key_of: Callable[[Any], Any] = _no_key
        self.observe: Callable[[Any, int], None] = _nothing
        if rule_settings.needs is not None:
            made: Uncertainty = _settings(uncertainty, settings).make(
                self._key_space(), self.actions, seed
            )
            self.uncertainty, self.observe = made, made.observe
            self.key_of = self._key_of_parts if self._flatten else made.key_of
        self.history = history_of(
            simulator, self.uncertainty, entries=history_size, key_of=self.key_of
        )
        pairs = numbered and self.uncertainty is not None and self.uncertainty.knows_actions
        sources = Sources(
            history=self.history,
            actions=self.actions,
            batch=batch,
            kind=restart or ("pair" if pairs else "state"),
            uncertainty=self.uncertainty,
            predict=_no_values,
            td_error=None,
        )
        self.rule: Rule = rule_settings.make(sources)

    def add(self, snapshot: Snapshot, key: Any, mask: np.ndarray | None) -> int:
        """Adds a snapshot to the history; returns the number of its entry."""
        entry = self.history.add(snapshot, key, mask)
        self.rule.added(entry, key)
        return entry

    def ended(self, entries: list[int], screen_score: float) -> None:
        """Takes note of the entries that an episode added, and of its screen score."""
        numbers = np.array(entries)
        self.rule.ended(numbers[numbers >= self.history.oldest], screen_score)

    def _key_of_parts(self, observation: Any) -> Any:
        assert self.uncertainty is not None
        return self.uncertainty.key_of(gymnasium.spaces.flatten(self._space, observation))

    def _key_space(self) -> gymnasium.Space[Any]:
        if not self._flatten:
            return self._space
        try:
            flat: gymnasium.Space[Any] = gymnasium.spaces.flatten_space(self._space)
        except NotImplementedError:
            flat = self._space
        if not isinstance(flat, gymnasium.spaces.Box):
            raise UsageError(
                f"observations of {self._space} cannot be flattened by Gymnasium, so no "
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


def _no_key(observation: Any) -> int:
    return 0


def _nothing(key: Any, action: int) -> None:
    pass


def _no_values(observations: np.ndarray) -> np.ndarray:
    raise UsageError("this uncertainty asks for an agent's values, which a wrapper does not see")
