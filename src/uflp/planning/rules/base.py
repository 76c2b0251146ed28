"""The protocol of a restart rule: it follows a history, and chooses the state to go back to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from uflp import masks, spaces
from uflp.planning.history import History, HistoryLike, rehoused
from uflp.state import State, array, finite
from uflp.types import Action, RunError, Snapshot, Transition
from uflp.uncertainty.base import Predict, Uncertainty

Kind = Literal["pair", "state"]


class Start(NamedTuple):
    """The start of a rollout. A rule names entry and a0, the planner adds the snapshot.

    Attributes:
        entry: number of the history's entry to restore, None for the initial-state distribution.
        action: a0, None where the agent chooses it.
        snapshot: of the entry.
        seed: of the reset at the initial-state distribution, None to draw one.
        script: actions to play in place of the agent's, after which the rollout is truncated; None
            lets the agent act.
    """

    entry: int | None = None
    action: Action | None = None
    snapshot: Snapshot | None = None
    seed: int | None = None
    script: Sequence[Action] | None = None


class Sources(NamedTuple):
    """The parts of a run that a rule may use.

    Attributes:
        history: what it chooses from.
        actions: A, or what they are where they are real-valued.
        batch: B, the candidates of one choice; None means the whole history.
        kind: whether pairs or states are compared, for the rule that can do both.
        uncertainty: scores the keys of the history; None where the rule needs none.
        predict: action values, for uncertainties that ask.
        td_error: the present TD error of a transition; None where no agent's values are seen.
        sampled_actions: K, the actions of a state that are compared where they are real-valued.
    """

    history: History
    actions: spaces.Actions
    batch: int | None
    kind: Kind
    uncertainty: Uncertainty | None
    predict: Predict
    td_error: Callable[[Transition], float] | None
    sampled_actions: int = 8

    def candidates(self, rng: np.random.Generator) -> np.ndarray:
        """Return B entries, drawn uniformly with replacement, or all of them."""
        return self.history.live() if self.batch is None else self.history.sample(rng, self.batch)

    def start(self, entry: int, rng: np.random.Generator) -> Start:
        """Return the start at an entry with a random a0."""
        return random_start(self.history, entry, self.actions, rng)


class RuleSettings(Protocol):
    """Settings of a rule: a frozen dataclass.

    Attributes:
        needs: the uncertainty that the rule uses: `any`, the name of one, or None.
    """

    needs: ClassVar[str | None]

    def make(self, sources: Sources) -> Rule:
        """Return the rule."""


class Rule:
    """Choose where the next rollout begins: the choice inside Algorithm 2.

    All but `choose` may be left as it is. What a rule keeps must be in its `state`.
    """

    def added(self, entry: int, key: Any) -> None:
        """Learn of a new entry of the history."""

    def left(self, entry: int, transition: Transition) -> None:
        """Learn of a query that was made in the state of an entry, just after that was added."""

    def ended(self, entries: np.ndarray, screen_score: float) -> None:
        """Learn which live entries a rollout added, and the screen score at its end."""

    def choose(self, rng: np.random.Generator) -> Start:
        """Return the start of the next rollout; the history is not empty.

        `Start()` begins at the initial-state distribution after all.
        """
        raise NotImplementedError

    def state(self) -> State:
        """Return what the rule knows."""
        return {}

    def load(self, state: State) -> None:
        """Take what an equal rule knew of an equal history."""


def random_start(
    history: HistoryLike, entry: int, actions: spaces.Actions, rng: np.random.Generator
) -> Start:
    """Return the start at an entry with a uniformly random a0, as in Eq. 2 of the paper.

    Where there are masks, it is one that the entry's state allows.
    """
    if isinstance(actions, spaces.RealActions):
        return Start(entry, actions.draw(rng))
    allowed = history.masks(np.array([entry]))
    return Start(entry, masks.draw(rng, actions, None if allowed is None else allowed[0]))


def argmax(values: np.ndarray, rng: np.random.Generator) -> int:
    """Return the place of a highest value, each of several equally likely."""
    highest = values.max()
    if np.isnan(highest):
        raise RunError("the uncertainty of a saved state is not a number: the agent has diverged")
    best = np.flatnonzero(values == highest)
    return int(best[0] if len(best) == 1 else best[rng.integers(len(best))])


def weighted(weights: np.ndarray, rng: np.random.Generator) -> int:
    """Draw a place with probability proportional to its weight."""
    ends = np.cumsum(weights)
    if not 0 < ends[-1] < np.inf:
        raise RunError(f"the weights of saved states add up to {ends[-1]}: none can be drawn")
    return int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))


_FIRST_ROOM = 1024


class EntryScores:
    """One number for each live entry of a history; it has to be given for every new entry."""

    def __init__(self, history: History):
        self._history = history
        self._ring = np.zeros(_FIRST_ROOM)

    def set(self, entries: int | np.ndarray, number: float) -> None:
        """Give live entries a number."""
        room = len(self._ring)
        if len(self._history) > room:
            self._ring = rehoused(self._ring, self._history.live(), room, 2 * room)
        self._ring[entries % len(self._ring)] = number

    def of(self, entries: np.ndarray) -> np.ndarray:
        """Return the numbers of live entries."""
        return self._ring[entries % len(self._ring)]

    def state(self) -> State:
        """Return the numbers of all live entries, oldest first."""
        return {"numbers": self.of(self._history.live())}

    def load(self, state: State) -> None:
        """Take the numbers of an equal history."""
        live = self._history.live()
        numbers = finite(array(state["numbers"], np.empty(len(live)), "numbers"), "numbers")
        while len(self._ring) < len(live):
            self._ring = np.zeros(2 * len(self._ring))
        self._ring[live % len(self._ring)] = numbers
