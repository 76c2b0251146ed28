"""The origin of a score: the executed actions of every frame since the initial state.

A screen score is stitched together by restarts, so it counts only once its own actions, played from
the start, give it again. What leads to a snapshot is a chain of segments, each with the actions
since the segment before. Segments are shared by all that came after them, outlive the snapshot's
eviction as long as anything does, and are freed when nothing does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from uflp.planning.history import History
from uflp.planning.observers import Observer
from uflp.planning.rules.base import Start
from uflp.simulators.base import Simulator
from uflp.state import State, StateError, number, real, whole_numbers
from uflp.types import Transition


class Segment(NamedTuple):
    """The actions that lead from one snapshot to the next.

    Attributes:
        before: the segment that ends where this one begins, None at the initial state.
        actions: one byte a frame.
    """

    before: Segment | None
    actions: bytes


class Place:
    """Position of one actor: the last snapshot behind it, and the actions since."""

    def __init__(self, last: Segment, since: bytes = b""):
        self.last = last
        self.since = bytearray(since)


class Lineage:
    """The lineages of all snapshots in a history, and that of the best screen score.

    Several actors may add to one history; where there is one, it is number 0.

    Attributes:
        best_score: the highest screen score so far, at least 0.
    """

    def __init__(self) -> None:
        self.best_score = 0.0
        self._best = Segment(None, b"")
        self._of: dict[int, Segment] = {}
        self._oldest = 0
        self._places: dict[int, Place] = {}

    def __len__(self) -> int:
        """Return how many snapshots have their lineage here."""
        return len(self._of)

    def knows(self, actor: int) -> bool:
        """Return whether an actor has said where it began."""
        return actor in self._places

    def segment(self, entry: int) -> Segment:
        """Return what leads to an entry."""
        return self._of[entry]

    def begin(self, entry: int | None, actor: int = 0) -> None:
        """Go to an entry of the history, or to the initial state."""
        self._places[actor] = Place(Segment(None, b"") if entry is None else self._of[entry])

    def adopt(self, segment: Segment) -> None:
        """Go to a state that another history knew the way to."""
        self._places[0] = Place(segment)

    def stepped(self, executed: bytes, score: float, actor: int = 0) -> None:
        """Record the actions of a step's frames, and the screen score after it."""
        place = self._places[actor]
        place.since += executed
        if score > self.best_score:
            self.best_score = score
            self._best = Segment(place.last, bytes(place.since))

    def added(self, entry: int, oldest: int, actor: int = 0) -> None:
        """Learn that the present state is a new entry of a history, and which is its oldest."""
        place = self._places[actor]
        if place.since:
            place.last = Segment(place.last, bytes(place.since))
            place.since.clear()
        self._of[entry] = place.last
        while self._oldest < oldest:
            del self._of[self._oldest]
            self._oldest += 1

    def state(self) -> State:
        """Return all segments, each after the one before it, and which of them are of what."""
        lasts = [place.last for place in self._places.values()]
        ends = [self._best, *lasts, *self._of.values()]
        segments, places = _ordered(ends)
        return {
            "best_score": self.best_score,
            "oldest": self._oldest,
            "actors": list(self._places),
            "since": [bytes(place.since) for place in self._places.values()],
            "before": np.array([places[id(segment.before)] for segment in segments], np.int64),
            "sizes": np.array([len(segment.actions) for segment in segments], np.int64),
            "actions": b"".join(segment.actions for segment in segments),
            "ends": np.array([places[id(segment)] for segment in ends], np.int64),
        }

    def load(self, state: State) -> None:
        """Take the segments again."""
        segments: list[Segment] = []
        start = 0
        sizes, actions = whole_numbers(state, "sizes"), state["actions"]
        if type(actions) is not bytes or sum(sizes) != len(actions):
            raise StateError("the segments of actions have other lengths")
        for place, size in zip(whole_numbers(state, "before", least=-1), sizes, strict=True):
            if not place < len(segments):
                raise StateError("a segment of actions comes before its own beginning")
            before = None if place < 0 else segments[place]
            segments.append(Segment(before, actions[start : start + size]))
            start += size
        actors = state["actors"]
        if not all(type(actor) is int for actor in actors):
            raise StateError("an actor has no number")
        if not all(type(since) is bytes for since in state["since"]):
            raise StateError("actions are bytes")
        places_of = whole_numbers(state, "ends", most=len(segments) - 1)
        self._best, *ends = (segments[place] for place in places_of)
        self.best_score = real(state, "best_score")
        self._oldest = number(state, "oldest")
        self._of = dict(enumerate(ends[len(actors) :], start=self._oldest))
        places = [Place(*place) for place in zip(ends, state["since"], strict=False)]
        self._places = dict(zip(actors, places, strict=True))

    def best_actions(self) -> bytes:
        """Return the action of every frame from the initial state to the best screen score."""
        segments = []
        segment: Segment | None = self._best
        while segment is not None:
            segments.append(segment.actions)
            segment = segment.before
        return b"".join(reversed(segments))


class LineageObserver(Observer):
    """Tells a lineage what happens in one simulator."""

    def __init__(self, lineage: Lineage, simulator: Simulator, history: History | None):
        self._lineage = lineage
        self._simulator = simulator
        self._history = history

    def began(self, start: Start, observation: Any, queries: int) -> None:
        """Go to the start."""
        self._lineage.begin(start.entry)

    def stepped(self, transition: Transition, queries: int) -> None:
        """Note what the simulator executed, and its screen score."""
        self._lineage.stepped(self._simulator.executed, self._simulator.screen_score)

    def saved(self, entry: int | None) -> None:
        """Note which entry of the history the present state is."""
        assert entry is not None and self._history is not None
        self._lineage.added(entry, self._history.oldest)


def _ordered(ends: Iterable[Segment]) -> tuple[list[Segment], dict[int, int]]:
    """Return all segments that lead to some, the earlier ones first, and places by identity.

    The place of what is before the first segment, None, is -1.
    """
    segments: list[Segment] = []
    places = {id(None): -1}
    for end in ends:
        chain = []
        segment: Segment | None = end
        while segment is not None and id(segment) not in places:
            chain.append(segment)
            segment = segment.before
        for one in reversed(chain):
            places[id(one)] = len(segments)
            segments.append(one)
    return segments, places
