"""The shared history: updates, restarts, and what is lost in between."""

import contextlib

import numpy as np
import pytest
from in_process import InProcessCaller
from probes import Dice
from test_masks import Turnstiles

from uflp.distributed.actor import ActorWorker, CollectTask
from uflp.distributed.checkpoint_transfer import in_memory, with_rows
from uflp.distributed.history_service import HistoryService, key_codec
from uflp.distributed.parameters import Parameters
from uflp.distributed.replay_shards import ReplayShard
from uflp.experiments.resolve import resolve
from uflp.planning.history import saved_entries
from uflp.randomness import Randomness
from uflp.simulators.atari import Atari
from uflp.training.exploration_log import ExplorationLog
from uflp.uncertainty.counts import Counts


def deep_sea(**values):
    """A run whose actors act at random, so that no agent is compiled."""
    overrides = {"size": 6, "queries": 500, "history_size": 40} | values
    return resolve("deep-sea", agent="random", uncertainty="counts", overrides=overrides)


def entries(service):
    """Returns the entries of a history: number, data, score, key and mask."""
    return list(saved_entries(with_rows(service.state(), service.block)["history"]))


def make_workers(settings, *, shared):
    """Returns a history and two actors that share it."""
    history = InProcessCaller(HistoryService(settings, shared))
    replay = InProcessCaller(ReplayShard(settings, 1, b""))
    actors = [ActorWorker(settings, index, history, replay, shared, b"") for index in range(2)]
    return history, actors


def collect(actor, queries, made=0, rollouts=0):
    return actor.collect(CollectTask(queries, made, rollouts, Parameters(), logs=True))


@contextlib.contextmanager
def noted_draws():
    """Yields a dict that fills with what is drawn first, by stream and number."""
    draws, at = {}, Randomness.at

    def noted(randomness, stream, number):
        draws[stream, number] = at(randomness, stream, number).random()
        return at(randomness, stream, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Randomness, "at", noted)
        yield draws


def visits(worker):
    """Returns the queries that the uncertainty of a worker has observed, by state and action."""
    return worker.state()["uncertainty"]["visits"]


@pytest.mark.parametrize("shared", [False, True])
def test_restarts_only_take_actions_that_the_state_allows(shared):
    settings = resolve(
        "test_masks:Turnstiles",
        agent="random",
        uncertainty="counts",
        overrides={"batch": 4, "p_init": 0.2, "history_size": 50, "queries": 500, "epsilon": 0.5},
    )
    Turnstiles.forbidden = 0
    _, actors = make_workers(settings, shared=shared)
    chunks = [collect(actor, 20, made=made) for made in (0, 20) for actor in actors]
    assert sum(chunk.restarts for chunk in chunks) > 3
    assert Turnstiles.forbidden == 0
    assert sum(chunk.counted.dropped for chunk in chunks) == 0


@pytest.mark.parametrize("shared", [False, True])
def test_an_actor_that_restarts_samples_the_future_anew(shared):
    """Noise that replayed would throw again what another actor threw, or the same one before."""
    settings = resolve(
        "probes:Dice",
        agent="random",
        uncertainty="counts",
        overrides={"batch": 4, "p_init": 0.0, "checkpoint_period": 1, "queries": 500},
    )
    Dice.thrown.clear()
    _, actors = make_workers(settings, shared=shared)
    chunks = [collect(actor, 15, made=made) for made in (0, 15) for actor in actors]
    assert sum(chunk.restarts for chunk in chunks) >= 19
    assert len(Dice.thrown) == len(set(Dice.thrown)) == 60


def test_pixels_are_read_where_the_snapshots_are_and_only_those_that_were_drawn():
    values = {"rnd_width": 8, "rnd_batch": 8, "rnd_period": 1, "batch": 3, "p_init": 0.0}
    settings = resolve(
        "atari/ms-pacman",
        agent="random",
        uncertainty="rnd",
        overrides=values | {"rollout_limit": 20, "queries": 500},
    )
    history, (first, second) = make_workers(settings, shared=False)
    collect(first, 20)
    chunk = collect(second, 1)
    pixels = settings.simulator.make(0).observation_space.sample().nbytes
    assert chunk.restarts == 1
    assert history.calls[-3:] == ["sample", "fetch", "update"]
    assert 3 * pixels < history.answer_bytes[-3] < 3 * pixels + 2000


def test_an_actor_says_where_it_has_been():
    settings = resolve(
        "atari/montezuma-revenge",
        agent="random",
        uncertainty="counts",
        overrides={"batch": 4, "p_init": 0.0, "rollout_limit": 10, "queries": 500},
    )
    _, (first, second) = make_workers(settings, shared=False)
    assert collect(first, 12).visited == [1] * 12  # The first room.
    chunk = collect(second, 11)
    assert len(chunk.restarted) == chunk.restarts > 0
    place, image, score = chunk.restarted[0]
    assert (place, image.shape, score) == (1, (1, 84, 84), 0.0)
    log = ExplorationLog(settings.simulator.make(0))
    log.restart(place, image, score)
    assert log.restarted.sheet().restarts.tolist() == [1]


def test_actors_restart_from_each_others_snapshots():
    settings = deep_sea(batch=4, p_init=0.0)
    history, (first, second) = make_workers(settings, shared=False)
    collect(first, 12)
    chunk = collect(second, 1)
    assert chunk.restarts == 1
    # B keys, then exactly one snapshot.
    assert history.calls[-3:] == ["sample", "fetch", "update"]
    assert history.answer_bytes[-3] < 500


def test_an_entry_that_is_evicted_between_the_choice_and_the_fetch_is_chosen_again():
    settings = deep_sea(batch=4, p_init=0.0, history_size=5)
    history, (first, second) = make_workers(settings, shared=False)
    collect(first, 5)
    call, evicted = history.call, []

    def busy(method, *arguments):
        if method == "fetch" and not evicted:
            evicted.append(arguments[0])
            collect(first, 12, made=5)  # everything that was there leaves
        return call(method, *arguments)

    history.call = busy
    chunk = collect(second, 1)
    assert chunk.restarts == 1
    assert history.worker.fetch(evicted[0], 1) is None
    # The first actor's own restarts apart, one that failed and one that did not.
    assert history.fetched_by.count(1) == 2


def test_shared_counts_choose_what_no_actor_has_tried():
    settings = deep_sea(batch=None, p_init=0.0, history_size=1000)
    history, actors = make_workers(settings, shared=True)
    for _ in range(40):
        for actor in actors:
            collect(actor, 3)
    tried = visits(history.worker) > 0
    # Random actions alone reach the lower right of a 6 × 6 sea once in 32 episodes of six.
    assert tried.sum() > 30
    assert "sample" not in history.calls


def test_own_counts_are_no_business_of_others():
    settings = deep_sea(batch=4)
    history, (first, second) = make_workers(settings, shared=False)
    collect(first, 50)
    assert visits(first).sum() == 50
    assert visits(second).sum() == 0
    assert "uncertainty" not in history.worker.state()


def test_an_actor_that_came_back_draws_no_random_number_twice():
    settings = deep_sea(batch=4, stochastic=True)
    # The same actor of the same run, in another process.
    (_, (before, _)), (_, (after, _)) = (make_workers(settings, shared=False) for _ in range(2))
    with noted_draws() as first:
        died = collect(before, 60)
    with noted_draws() as second:
        came_back = collect(after, 60, made=died.queries, rollouts=died.rollouts)
    assert after.state()["queries"] == 120
    for stream, begun, more in (
        ("rollout", died.rollouts, came_back.rollouts),
        ("act", died.queries, came_back.queries),
    ):
        numbers = [number for drawn, number in second if drawn == stream]
        assert set(numbers) <= set(range(begun, begun + more)) and len(numbers) > 5
    assert ("rollout", died.rollouts) in second and ("rollout", died.rollouts - 1) in first
    assert not set(first) & set(second)
    assert not set(first.values()) & set(second.values())


def test_cells_are_known_by_name_between_actors():
    space = Atari(game="pong").make(0).observation_space
    one, two = (Counts().make(space, 3, 0) for _ in range(2))
    space.seed(0)
    images = [space.sample() // 100 * 100 for _ in range(5)]
    for image in images[:3]:
        one.observe(one.key_of(image), 1)
    two.key_of(images[4])  # numbered otherwise
    names = key_codec(one).encode([one.key_of(image) for image in images])
    keys = key_codec(two).decode(names)
    assert keys.tolist() == [two.key_of(image) for image in images]
    assert keys.tolist() != [one.key_of(image) for image in images]
    assert two.visits.sum() == 0


@pytest.mark.parametrize("shared", [False, True])
def test_what_led_to_the_best_score_is_known_across_actors(shared):
    overrides = {"batch": 4, "p_init": 0.2, "rollout_limit": 30, "queries": 3000}
    settings = resolve("atari/ms-pacman", agent="random", overrides=overrides)
    history, actors = make_workers(settings, shared=shared)
    for _ in range(8):
        for actor in actors:
            collect(actor, 40)
    score, actions = history.worker.status(0.0).best
    *_, (replayed, _) = settings.simulator.make(0).replay(actions)
    assert replayed == score > 0


def test_a_history_that_came_back_takes_nothing_whose_origin_it_does_not_know():
    overrides = {"batch": 4, "rollout_limit": 60, "queries": 3000}
    settings = resolve("atari/ms-pacman", agent="random", overrides=overrides)
    history, (actor, _) = make_workers(settings, shared=False)
    collect(actor, 45)
    history.worker = HistoryService(settings, False)
    collect(actor, 10)  # in the same rollout, with a snapshot after query 50
    assert history.worker.status(0.0).size == 0
    collect(actor, 10)
    assert history.worker.status(0.0).size > 0


def test_a_saved_history_and_actor_go_on_alike():
    settings = deep_sea(batch=4, p_init=0.3, stochastic=True)
    history, (actor, _) = make_workers(settings, shared=False)
    collect(actor, 70)
    other, (same, _) = make_workers(settings, shared=False)
    same.load(actor.state())
    state = history.worker.state()
    whole = with_rows(state, history.worker.block)
    other.worker.load(in_memory(whole))
    chunks = [collect(one, 50, made=70) for one in (actor, same)]
    assert chunks[0].counted == chunks[1].counted
    assert chunks[0].visited == chunks[1].visited
    for one, two in zip(entries(history.worker), entries(other.worker), strict=True):
        np.testing.assert_equal(one, two)
