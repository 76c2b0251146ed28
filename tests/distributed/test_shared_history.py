"""The shared history: what it is told, what it is asked, and what gets lost in between."""

import numpy as np
import pytest
from near import Near
from probes import Dice
from test_masks import ACTIONS, Turnstiles

from uflp.distributed.collector import Collector
from uflp.distributed.history import HistoryService
from uflp.distributed.messages import Task
from uflp.distributed.naming import naming_of
from uflp.distributed.parameters import Parameters
from uflp.distributed.replay import ReplayShard
from uflp.experiments.resolve import resolve
from uflp.simulators.atari import Atari
from uflp.training.whereabouts import Whereabouts
from uflp.uncertainty.counts import Counts


def deep_sea(**values):
    """A run whose actors act at random, so that no agent is compiled."""
    overrides = {"size": 6, "queries": 500, "history_size": 40} | values
    return resolve("deep-sea", agent="random", uncertainty="counts", overrides=overrides)


def crew(settings, *, shared, actors=2):
    history = Near(HistoryService(settings, shared))
    replay = Near(ReplayShard(settings, 1, b""))
    members = [Collector(settings, index, history, replay, shared, b"") for index in range(actors)]
    return history, members


def collect(collector, queries, made=0, rollouts=0):
    return collector.collect(Task(queries, made, rollouts, Parameters(), logs=True))


def note_draws(collector):
    """Returns a dict that fills with what an actor draws first, by stream and number."""
    randomness, draws = collector._rollout._randomness, {}
    at = randomness.at

    def noted(stream, number):
        draws[stream, number] = at(stream, number).random()
        return at(stream, number)

    randomness.at = noted
    return draws


@pytest.mark.parametrize("shared", [False, True])
def test_restarts_only_take_actions_that_the_state_allows(shared):
    settings = resolve(
        "test_masks:Turnstiles",
        agent="random",
        uncertainty="counts",
        overrides={"batch": 4, "p_init": 0.2, "history_size": 50, "queries": 500, "epsilon": 0.5},
    )
    Turnstiles.forbidden = 0
    history, actors = crew(settings, shared=shared)
    chunks = [collect(actor, 20, made=made) for made in (0, 20) for actor in actors]
    assert sum(chunk.restarts for chunk in chunks) > 3
    assert Turnstiles.forbidden == 0
    assert sum(chunk.counted.dropped for chunk in chunks) == 0
    assert history._part._history.masked == ACTIONS


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
    _, actors = crew(settings, shared=shared)
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
    history, (first, second) = crew(settings, shared=False)
    collect(first, 20)
    chunk = collect(second, 1)
    pixels = first._simulator.observation_space.sample().nbytes
    assert chunk.restarts == 1
    assert history.calls[-3:] == ["sample", "fetch", "take"]
    assert 3 * pixels < history.moved[-3] < 3 * pixels + 2000


def test_an_actor_says_where_it_has_been():
    settings = resolve(
        "atari/montezuma-revenge",
        agent="random",
        uncertainty="counts",
        overrides={"batch": 4, "p_init": 0.0, "rollout_limit": 10, "queries": 500},
    )
    _, (first, second) = crew(settings, shared=False)
    assert collect(first, 12).visited == [1] * 12  # The first room.
    chunk = collect(second, 11)
    assert len(chunk.restarted) == chunk.restarts > 0
    place, image, score = chunk.restarted[0]
    assert (place, image.shape, score) == (1, (1, 84, 84), 0.0)
    whereabouts = Whereabouts(first._simulator)
    whereabouts.restart(place, image, score)
    assert whereabouts.restarted.sheet().restarts.tolist() == [1]


def test_actors_restart_from_each_others_snapshots():
    settings = deep_sea(batch=4, p_init=0.0)
    history, (first, second) = crew(settings, shared=False)
    collect(first, 12)
    chunk = collect(second, 1)
    assert chunk.restarts == 1
    # B keys, then exactly one snapshot.
    assert history.calls[-3:] == ["sample", "fetch", "take"]
    assert history.moved[-3] < 500


def test_an_entry_that_is_evicted_between_the_choice_and_the_fetch_is_chosen_again():
    settings = deep_sea(batch=4, p_init=0.0, history_size=5)
    history, (first, second) = crew(settings, shared=False)
    collect(first, 5)
    ask, kept, evicted = history.ask, history._part._history, []

    def busy(method, *arguments):
        if method == "fetch" and not evicted:
            evicted.append(arguments[0])
            for _ in range(5):  # everything that was there leaves
                kept.add(kept.fetch(kept.newest), 0)
        return ask(method, *arguments)

    history.ask = busy
    chunk = collect(second, 1)
    assert chunk.restarts == 1
    assert kept.fetch(evicted[0]) is None
    assert history.calls.count("fetch") == 2


def test_shared_counts_choose_what_no_actor_has_tried():
    settings = deep_sea(batch=None, p_init=0.0, history_size=1000)
    history, actors = crew(settings, shared=True)
    for _ in range(40):
        for actor in actors:
            collect(actor, 3)
    tried = history._part._uncertainty.visits > 0
    # Random actions alone reach the lower right of a 6 × 6 sea once in 32 episodes of six.
    assert tried.sum() > 30
    assert "sample" not in history.calls


def test_own_counts_are_no_business_of_others():
    settings = deep_sea(batch=4)
    history, (first, second) = crew(settings, shared=False)
    collect(first, 50)
    assert first._uncertainty.visits.sum() == 50
    assert second._uncertainty.visits.sum() == 0
    assert history._part._uncertainty is None


def test_an_actor_that_came_back_draws_no_random_number_twice():
    settings = deep_sea(batch=4, stochastic=True)
    # The same actor of the same run, in another process.
    (_, (before, _)), (_, (after, _)) = (crew(settings, shared=False) for _ in range(2))
    first, second = note_draws(before), note_draws(after)
    died = collect(before, 60)
    came_back = collect(after, 60, made=died.queries, rollouts=died.rollouts)
    assert after._collecting.queries == 120
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
    names = naming_of(one).names([one.key_of(image) for image in images])
    keys = naming_of(two).keys(names)
    assert keys.tolist() == [two.key_of(image) for image in images]
    assert keys.tolist() != [one.key_of(image) for image in images]
    assert two.visits.sum() == 0


@pytest.mark.parametrize("shared", [False, True])
def test_what_led_to_the_best_score_is_known_across_actors(shared):
    overrides = {"batch": 4, "p_init": 0.2, "rollout_limit": 30, "queries": 3000}
    settings = resolve("atari/ms-pacman", agent="random", overrides=overrides)
    history, actors = crew(settings, shared=shared)
    for _ in range(8):
        for actor in actors:
            collect(actor, 40)
    score, actions = history._part.status(0.0).best
    *_, (replayed, _) = settings.simulator.make(0).replay(actions)
    assert replayed == score > 0


def test_a_history_that_came_back_takes_nothing_whose_origin_it_does_not_know():
    overrides = {"batch": 4, "rollout_limit": 60, "queries": 3000}
    settings = resolve("atari/ms-pacman", agent="random", overrides=overrides)
    history, (actor, _) = crew(settings, shared=False)
    collect(actor, 45)
    history._part = HistoryService(settings, False)
    collect(actor, 10)  # in the same rollout, with a snapshot after query 50
    assert history._part.status(0.0).size == 0
    collect(actor, 10)
    assert history._part.status(0.0).size > 0


def test_a_saved_history_and_actor_go_on_alike():
    settings = deep_sea(batch=4, p_init=0.3, stochastic=True)
    history, (actor, _) = crew(settings, shared=False)
    collect(actor, 70)
    other, (same, _) = crew(settings, shared=False)
    same.load(actor.state())
    state = history._part.state()
    from uflp.distributed.rows import held, with_rows

    whole = with_rows(state, history._part.block)
    other._part.load(held(whole))
    chunks = [collect(one, 50, made=70) for one in (actor, same)]
    assert chunks[0].counted == chunks[1].counted
    assert chunks[0].visited == chunks[1].visited
    np.testing.assert_array_equal(
        history._part._history.keys(history._part._history.live()),
        other._part._history.keys(other._part._history.live()),
    )
