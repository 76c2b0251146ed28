"""Searches of the whole history agree with looking at every entry."""

from __future__ import annotations

import copy
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
from probes import no_predict

from uflp.planning.history import History
from uflp.planning.rules import uncertainty as search
from uflp.planning.rules.uncertainty import Bounds, Scan, Search, UncertaintyFirst, make_search
from uflp.types import RunError, Snapshot
from uflp.uncertainty import Uncertainty
from uflp.uncertainty.counts import Counts
from uflp.uncertainty.covariance import Covariance

SNAPSHOT = Snapshot("probe", b"1234", 0.0)
IDS, ACTIONS = 13, 2


class VectorCounts:
    """Counts of vectors: the place in a corridor, and noise that the count does not see."""

    knows_actions = True
    monotone = True
    ids = None
    key_shape = (2,)
    key_dtype = np.dtype(np.float32)

    def __init__(self) -> None:
        self._table = Counts().make(gymnasium.spaces.Discrete(IDS), ACTIONS, seed=0)

    def key_of(self, observation: int) -> np.ndarray:
        return np.array([observation, 0.5])

    def observe(self, key: np.ndarray, action: int) -> None:
        self._table.observe(int(key[0]), action)

    def score(self, keys: np.ndarray, predict: object) -> np.ndarray:
        return self._table.score(keys[:, 0].astype(int), no_predict)

    def score_states(
        self, keys: np.ndarray, predict: object, allowed: np.ndarray | None = None
    ) -> np.ndarray:
        return self._table.score_states(keys[:, 0].astype(int), no_predict)


def table_counts() -> Uncertainty:
    return Counts().make(gymnasium.spaces.Discrete(IDS), ACTIONS, seed=0)


def covariance() -> Uncertainty:
    return Covariance(feature_size=8).make(gymnasium.spaces.Discrete(IDS), ACTIONS, seed=0)


class World:
    """A history and a rule that are told of the same things."""

    def __init__(
        self,
        make: Callable[[], Uncertainty],
        *,
        kind: str = "pair",
        batch: int | None = None,
        entries: int | None = None,
        scan: bool = False,
    ):
        self.uncertainty = make()
        self.history = History(
            "probe",
            key_shape=self.uncertainty.key_shape,
            key_dtype=self.uncertainty.key_dtype,
            width=4,
            entries=entries,
        )
        monotone = self.uncertainty.monotone
        self.uncertainty.monotone = monotone and not scan
        self.rule = UncertaintyFirst(
            self.history, self.uncertainty, no_predict, actions=ACTIONS, batch=batch, kind=kind
        )
        self.kind = kind

    def add(self, state: int) -> int:
        key = self.uncertainty.key_of(state)
        entry = self.history.add(SNAPSHOT, key)
        self.rule.added(entry, key)
        return entry

    def observe(self, state: int, action: int) -> None:
        self.uncertainty.observe(self.uncertainty.key_of(state), action)

    def scores(self) -> np.ndarray:
        """Returns the score of every live entry, looking at all."""
        keys = self.history.keys(self.history.live())
        if self.kind == "state":
            return self.uncertainty.score_states(keys, no_predict)
        return self.uncertainty.score(keys, no_predict).max(axis=1)

    def searched_by(self) -> type[Search]:
        """Returns the kind of search that suits the uncertainty and the history."""
        return type(make_search(self.uncertainty, self.history, np.zeros_like))

    def score_of(self, entry: int) -> float:
        return float(self.scores()[entry - self.history.oldest])


@pytest.fixture(autouse=True)
def no_ids_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the bounds be tested without ten thousand states."""
    monkeypatch.setattr(search, "_FEW", 0)


def test_few_ids_are_scanned_and_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_FEW", IDS)
    assert World(table_counts).searched_by() is Scan
    monkeypatch.setattr(search, "_FEW", IDS - 1)
    assert World(table_counts).searched_by() is Bounds


@pytest.fixture(params=[(1024, 64), (4, 2), (1, 1)], ids=["blocks", "small", "single"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks, so that there are many of them without a million entries."""
    monkeypatch.setattr(search, "_BLOCK", request.param[0])
    monkeypatch.setattr(search, "_TOGETHER", request.param[1])


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("kind", ["pair", "state"])
@pytest.mark.parametrize("make", [table_counts, covariance, VectorCounts])
@pytest.mark.parametrize("entries", [1, 5, 37, None])
def test_the_choice_is_the_argmax_over_all_live_entries(
    make: Callable[[], Uncertainty], kind: str, scan: bool, entries: int | None
) -> None:
    world = World(make, kind=kind, entries=entries, scan=scan)
    assert world.searched_by() is (Scan if scan else Bounds)
    rng = np.random.default_rng(entries or 0)
    world.add(0)
    for _ in range(400):
        # A wandering favourite, so that states leave the history altogether and come back.
        state = int((rng.integers(IDS) * rng.random() + len(world.history) // 3) % IDS)
        doing = rng.random()
        if doing < 0.4:
            world.add(state)
        elif doing < 0.7:
            world.observe(state, int(rng.integers(ACTIONS)))
        else:
            start = world.rule.choose(rng)
            assert world.history.fetch(start.entry) is not None
            assert world.score_of(start.entry) == world.scores().max()
            if kind == "pair":
                keys = world.history.keys(np.array([start.entry]))
                pair = world.uncertainty.score(keys, no_predict)[0]
                assert pair[start.action] == pair.max() == world.scores().max()


def test_a_ring_of_bounds_grows_with_the_history() -> None:
    world = World(VectorCounts, entries=5000)
    rng = np.random.default_rng(0)
    for number in range(9000):
        world.add(number % IDS)
        world.observe(int(rng.integers(IDS)), int(rng.integers(ACTIONS)))
        if number % 500 == 499 or number in (1023, 1024, 1025):
            start = world.rule.choose(rng)
            assert world.score_of(start.entry) == world.scores().max()


def test_a_search_scores_few_of_many_entries() -> None:
    """After the first one, a search looks at what may have changed, not at the whole history."""
    scored = []

    class Watched(VectorCounts):
        def score(self, keys: np.ndarray, predict: object) -> np.ndarray:
            scored.append(len(keys))
            return super().score(keys, predict)

    world = World(Watched)
    for number in range(3000):
        world.add(number % IDS)
    for state in range(IDS - 1):
        world.observe(state, 0)
        world.observe(state, 1)
    rng = np.random.default_rng(0)
    world.rule.choose(rng)
    scored.clear()
    for _ in range(20):
        world.rule.choose(rng)
    assert sum(scored) < 20 * 100


def chi_square(counts: np.ndarray) -> float:
    expected = counts.sum() / len(counts)
    return float(np.sum((counts - expected) ** 2 / expected))


# 1 - 1e-6 quantiles of chi-square, by degrees of freedom.
LIMIT = {1: 23.9, 4: 33.4, 9: 44.8, 12: 51.8, 29: 79.2}


def chosen_states(world: World, draws: int, *, afresh: bool) -> np.ndarray:
    """Counts the chosen states over many draws; `afresh` begins each from the same bounds."""
    rng = np.random.default_rng(0)
    counts = np.zeros(IDS, int)
    for _ in range(draws):
        rule = copy.deepcopy(world.rule) if afresh else world.rule
        entry = rule.choose(rng).entry
        key = world.history.keys(np.array([entry]))[0]
        counts[int(np.ravel(key)[0])] += 1
    return counts


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("afresh", [False, True])
@pytest.mark.parametrize("make", [table_counts, VectorCounts])
def test_unvisited_states_are_chosen_alike(
    make: Callable[[], Uncertainty], afresh: bool, scan: bool
) -> None:
    world = World(make, scan=scan, entries=IDS)
    for state in range(IDS):
        world.add(state)
    assert chi_square(chosen_states(world, 50 * IDS, afresh=afresh)) < LIMIT[IDS - 1]


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("make", [table_counts, VectorCounts])
def test_a_new_state_has_no_advantage_over_known_ones_of_equal_score(
    make: Callable[[], Uncertainty],
) -> None:
    """The bounds of nine states are known and exact, that of the tenth is infinite."""
    world = World(make, entries=IDS)
    rng = np.random.default_rng(1)
    for state in range(9):
        world.add(state)
    for _ in range(100):
        world.rule.choose(rng)
    world.add(9)
    assert chi_square(chosen_states(world, 500, afresh=True)[:10]) < LIMIT[9]


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("make", [table_counts, VectorCounts])
def test_states_that_fell_to_the_same_score_are_chosen_alike(
    make: Callable[[], Uncertainty],
) -> None:
    """Of five states with equal scores, two have stale bounds, and so have two that fell below."""
    world = World(make, entries=IDS)
    rng = np.random.default_rng(1)
    for state in range(7):
        world.add(state)
    for state in range(3):
        for action in range(ACTIONS):
            world.observe(state, action)
    for _ in range(100):
        world.rule.choose(rng)
    for state in (3, 4, 5, 5, 6, 6):
        for action in range(ACTIONS):
            world.observe(state, action)
    counts = chosen_states(world, 500, afresh=True)
    assert counts[5:].sum() == 0
    assert chi_square(counts[:5]) < LIMIT[4]


def test_entries_of_vectors_in_several_blocks_are_chosen_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Blocks that hold more of the tied entries are drawn more often."""
    monkeypatch.setattr(search, "_BLOCK", 8)
    world = World(VectorCounts)
    for _ in range(30):
        world.add(3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        world.rule.choose(rng)
    counts = np.bincount([world.rule.choose(rng).entry for _ in range(3000)], minlength=30)
    assert chi_square(counts) < LIMIT[29]


def test_rounding_neither_hides_the_argmax_nor_stops_the_search() -> None:
    """A vector's score differs in its last bits with the company it is computed in."""
    covariance = Covariance(feature_size=20).make(
        gymnasium.spaces.Box(-3, 3, (2,), np.float32), ACTIONS, seed=0
    )
    world = World(lambda: covariance, entries=200)
    rng = np.random.default_rng(0)
    # Few distinct vectors, each many times, so that nearly all scores are ties but for rounding.
    vectors = rng.normal(size=(6, 2)).astype(np.float32)
    for number in range(600):
        world.add(vectors[rng.integers(6)])
        if number % 3 == 0:
            start = world.rule.choose(rng)
            assert world.score_of(start.entry) == pytest.approx(world.scores().max(), rel=1e-9)
            world.observe(vectors[rng.integers(6)], int(rng.integers(ACTIONS)))


@pytest.mark.parametrize("ids", [IDS, None])
@pytest.mark.parametrize("kind", [Scan, Bounds])
def test_a_loaded_search_draws_like_the_saved_one(
    kind: type[Scan | Bounds], ids: int | None
) -> None:
    """Among equals, too, for which bounds that were merely right would not do."""
    rng = np.random.default_rng(0)
    scores = np.full(IDS, 5.0)

    def score(entries: np.ndarray) -> np.ndarray:
        return scores[history.keys(entries)]

    history = History("probe", width=4, entries=700)
    saved = kind(history, ids, score)
    for _ in range(900):
        key = int(rng.integers(IDS))
        saved.added(history.add(SNAPSHOT, key), key)
        if rng.random() < 0.2:
            scores[history.keys(np.array([saved.best(rng)]))] -= 0.5
    loaded = kind(history, ids, score)
    loaded.load(copy.deepcopy(saved.state()))
    for number in range(60):
        found = [one.best(np.random.default_rng(number)) for one in (saved, loaded)]
        assert found[0] == found[1]
        scores[history.keys(np.array(found[:1]))] -= 0.5
        for one in (saved, loaded):
            one.added(history.newest, int(history.keys(np.array([history.newest]))[0]))


def test_what_is_not_a_number_is_told_instead_of_compared() -> None:
    with pytest.raises(RunError, match="not a number: the agent has diverged"):
        search.argmax(np.array([1.0, np.nan]), np.random.default_rng(0))
