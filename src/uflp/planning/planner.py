"""The planner: where each rollout begins, and all that this decision needs.

It is the choice inside Algorithm 2 of the paper, the only implementation of it. The training loop,
`LocalAccess` and the actors of a cluster are its clients: each calls `start` for the next rollout,
`began` at s0, `visited` and `reached` for each query, and `ended` after the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uflp.planning.history import HistoryLike
from uflp.planning.observers import Observers
from uflp.planning.rules.base import Rule, Start
from uflp.planning.save_schedule import EveryKth, SaveSchedule
from uflp.state import State, StateError, number, number_or_none, whole_numbers
from uflp.types import Action, RunError, Snapshot, Transition
from uflp.uncertainty.base import Predict, Uncertainty


class LocalPlanner:
    """Decides where each rollout begins, and keeps what that decision needs.

    A planner follows one simulator. Several planners may share history, uncertainty and rule.

    Attributes:
        history: the saved states; None under online access.
        uncertainty: observes every query; None where nothing needs it.
        rule: chooses among the saved states; None under online access.
        key: of the present state.
        length: queries of the present rollout.
        failures: rollouts in a row that were dropped.
    """

    def __init__(
        self,
        *,
        history: HistoryLike | None,
        uncertainty: Uncertainty | None,
        rule: Rule | None,
        p_init: float,
        schedule: SaveSchedule | None = None,
        rollout_limit: int | None = None,
        restart_limit: int | None = None,
        key_of: Callable[[Any], Any] | None = None,
        predict: Predict | None = None,
        intrinsic_scale: float = 0.0,
        observers: Observers | None = None,
    ):
        """Make a planner between two rollouts.

        Args:
            history: where snapshots go; None under online access.
            uncertainty: what observes every query.
            rule: what chooses a snapshot, given with the history.
            p_init: probability that a rollout begins at the initial-state distribution.
            schedule: decides which states are saved; None saves all of them.
            rollout_limit: queries after which a rollout is truncated.
            restart_limit: queries after which one that began with a restart is, if that is sooner.
            key_of: gives the key of an observation; None lets the uncertainty do it.
            predict: action values, for uncertainties that ask.
            intrinsic_scale: c of the intrinsic reward c·u(s, a), Eq. 5 of the paper.
            observers: of what is saved.
        """
        self.history = history
        self.uncertainty = uncertainty
        self.rule = rule
        self.key: Any = None
        self.length = 0
        self.failures = 0
        self._p_init = p_init
        self._schedule = EveryKth() if schedule is None else schedule
        self._rollout_limit = rollout_limit
        limits = [limit for limit in (rollout_limit, restart_limit) if limit is not None]
        self._restart_limit = min(limits, default=None)
        self._observe = _ignore if uncertainty is None else uncertainty.observe
        self.key_of: Callable[[Any], Any] = key_of or (
            _no_key if uncertainty is None else uncertainty.key_of
        )
        self._predict = predict
        self._intrinsic_scale = intrinsic_scale
        self._saved = (observers or Observers()).saved
        self._limit: int | None = None
        self._entries: list[int] = []  # Those that the present rollout has added.
        self._unvisited: int | None = None  # The last of them, until a query is made there.

    def start(self, rng: np.random.Generator) -> Start:
        """Return where the next rollout begins: Unif[0, 1] > p_init restarts, if anything can.

        After a rollout that was dropped, the next one begins at the initial-state distribution.
        """
        history, rule = self.history, self.rule
        if history is None or rule is None or self.failures or history.is_empty():
            return Start()
        if rng.random() <= self._p_init:
            return Start()
        start = rule.choose(rng)
        if start.entry is None:
            return start
        snapshot = history.fetch(start.entry)
        if snapshot is None:
            raise RunError(f"{rule} chose entry {start.entry}, which is not in the history")
        return start._replace(snapshot=snapshot)

    def began(
        self,
        start: Start,
        observation: Any,
        mask: np.ndarray | None,
        save: Callable[[], Snapshot],
    ) -> None:
        """Begin a rollout: s0 joins the history.

        Args:
            start: where it begins.
            observation: of s0.
            mask: which actions s0 allows.
            save: saves the simulator, which is in s0.
        """
        self.begin(start, observation)
        self.add(mask, save)

    def begin(self, start: Start, observation: Any) -> None:
        """Begin a rollout for a client that adds s0 itself."""
        self.length = 0
        self._limit = self._rollout_limit if start.snapshot is None else self._restart_limit
        if start.script is not None:
            self._limit = len(start.script)
        self._entries = []
        self._unvisited = None
        self.key = self.key_of(observation)
        if self.history is not None:
            self._schedule.began(observation, self.key)

    def visited(self, action: Action) -> float:
        """Count the query (s, a) in the present state.

        Returns:
            The intrinsic reward c·u(s, a), by what was known before.
        """
        self.length += 1
        intrinsic = 0.0
        if self._intrinsic_scale:
            intrinsic = self._intrinsic_scale * self._uncertainty_of(action)
        self._observe(self.key, action)
        return intrinsic

    @property
    def at_limit(self) -> bool:
        """Whether the present rollout has as many queries as it may have."""
        return self.length == self._limit

    def reached(self, transition: Transition, save: Callable[[], Snapshot], *, final: bool) -> None:
        """Go to the state that a query led to, and save it when that is due.

        Args:
            transition: of the query.
            save: saves the simulator.
            final: whether the simulator has ended the episode; then there is nothing to save. A
                rollout that is truncated by a limit ends in a state that one can go on from.
        """
        if self.moved(transition, final=final):
            self.add(transition.next_mask, save)

    def moved(self, transition: Transition, *, final: bool) -> bool:
        """Go to the state that a query led to; return whether the client is to add it."""
        if self._unvisited is not None:
            self._tell_left(self._unvisited, transition)
            self._unvisited = None
        if final:
            return False
        observation = transition.next_observation
        self.key = self.key_of(observation)
        return self.history is not None and self._schedule.due(self.length, observation, self.key)

    def ended(self, screen_score: float) -> None:
        """End the rollout; tell the rule which live entries it added, and its score."""
        self.failures = 0
        if self.history is None or self.rule is None:
            return
        entries = np.array(self._entries, np.int64)
        self.rule.ended(entries[entries >= self.history.oldest], screen_score)

    def failed(self) -> None:
        """End a rollout in which the simulator failed: the rule learns nothing of its score."""
        self.failures += 1

    def add(self, mask: np.ndarray | None, save: Callable[[], Snapshot]) -> None:
        """Add the present state to the history, if there is one.

        Args:
            mask: which actions it allows.
            save: saves the simulator.
        """
        if self.history is None:
            return
        entry = self.history.add(save(), self.key, mask)
        if entry is not None:
            self._entries.append(entry)
            self._unvisited = entry
            if self.rule is not None:
                self.rule.added(entry, self.key)
        for saved in self._saved:
            saved(entry)

    def state(self) -> State:
        """Return all that decides the next starts: history, uncertainty, rule, the rollout."""
        parts = {name: part.state() for name, part in self._parts().items()}
        rollout = {
            "length": self.length,
            "limit": self._limit,
            "entries": np.array(self._entries, np.int64),
            "unvisited": self._unvisited,
            # Those who resume have looked into it: all patience is there again.
            "failures": min(1, self.failures),
        }
        scheduled = self._schedule.state()
        return {**parts, **({"schedule": scheduled} if scheduled else {}), "planner": rollout}

    def load(self, state: State) -> None:
        """Take such a state of an equal planner; `resume` follows if a rollout is under way."""
        for name, part in self._parts().items():
            part.load(state[name])
        if "schedule" in state:
            self._schedule.load(state["schedule"])
        rollout = state["planner"]
        self.length = number(rollout, "length")
        self.failures = number(rollout, "failures")
        self._limit = number_or_none(rollout, "limit")
        self._entries = whole_numbers(rollout, "entries")
        self._unvisited = number_or_none(rollout, "unvisited")
        if self._limit == 0:
            raise StateError("a rollout with a limit of 0 queries is none")

    def resume(self, observation: Any) -> None:
        """Go to the state that a loaded rollout is in."""
        self.key = self.key_of(observation)

    def _parts(self) -> dict[str, Any]:
        parts = {"uncertainty": self.uncertainty, "history": self.history, "rule": self.rule}
        return {name: part for name, part in parts.items() if part is not None}

    def _tell_left(self, entry: int, transition: Transition) -> None:
        """Tell the rule of the first query in the state of an entry, if it is still there."""
        if self.rule is not None and self.history is not None and entry >= self.history.oldest:
            self.rule.left(entry, transition)

    def _uncertainty_of(self, action: Action) -> float:
        """Return u(s, a), or u(s) where the uncertainty does not tell actions apart."""
        assert self.uncertainty is not None and self._predict is not None
        keys = np.asarray(self.key)[None]
        if isinstance(action, np.ndarray) and self.uncertainty.knows_actions:
            return float(self.uncertainty.score(keys, self._predict, action[None, None])[0, 0])
        score = self.uncertainty.score(keys, self._predict)[0]
        return float(score[action] if score.ndim else score)


def _no_key(observation: Any) -> int:
    return 0


def _ignore(key: Any, action: Action) -> None:
    pass
