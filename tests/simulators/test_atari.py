"""Atari games: what is seen of them, and each known way in which going back goes wrong."""

from __future__ import annotations

import copy
import functools
import sys
from typing import Any

import numpy as np
import pytest
from PIL import Image

ale_py = pytest.importorskip("ale_py")

from uflp.simulators import SIMULATORS, SnapshotError  # noqa: E402
from uflp.simulators.atari import (  # noqa: E402
    PLACES,
    Atari,
    AtariSimulator,
)
from uflp.simulators.contract import check  # noqa: E402
from uflp.types import UsageError  # noqa: E402

HARD = ("montezuma-revenge", "private-eye", "venture", "pitfall")
FIRE, LEFT, RIGHT = 1, 4, 3


@functools.cache
def kept(game: str, **settings: Any) -> AtariSimulator:
    """Loading a game takes a quarter of a second, so tests share simulators and reset them."""
    return Atari(game=game, **settings).make(0)


def started(game: str, warm_up: int = 0, **settings: Any) -> AtariSimulator:
    simulator = kept(game, **settings)
    simulator.reset(seed=0)
    for action in actions(warm_up, seed=1):
        simulator.step(action)
    return simulator


def actions(count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(18, size=count).tolist()


def play(simulator: AtariSimulator, chosen: list[int]) -> list[tuple[Any, ...]]:
    """Plays, and returns all that can be seen of it."""
    seen: list[tuple[Any, ...]] = []
    for action in chosen:
        observation, reward, *ends, _ = simulator.step(action)
        ram = simulator._emulator.getRAM().tobytes()
        seen.append((observation.tobytes(), ram, reward, ends, simulator.executed))
        if any(ends):
            break
    return seen


def test_it_keeps_every_promise_of_a_simulator() -> None:
    assert check(lambda: Atari(game="pong").make(0), steps=4) == []


@pytest.mark.parametrize("game", HARD)
def test_restores_are_faithful(game: str) -> None:
    """The short form of `benchmarks/atari_faithful.py`."""
    simulator = started(game, 20)
    moments = []
    for number in range(12):
        snapshot = simulator.save()
        course = actions(5, seed=number)
        moments.append((snapshot, course, play(simulator, course)))
    for turn in np.random.default_rng(0).integers(len(moments), size=24):
        snapshot, course, expected = moments[turn]
        simulator.restore(snapshot, randomness="exact")
        assert play(simulator, course) == expected


def test_what_is_seen_is_what_acme_shows() -> None:
    """RGB maximum over the last two frames, gray, bilinear, after three blank frames."""
    simulator = started("breakout", sticky=0.0)
    observation, _ = simulator.reset()
    emulator = ale_py.ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(ale_py.roms.get_rom_path("breakout"))
    emulator.reset_game()
    stack = [np.zeros((84, 84), np.uint8)] * 3 + [acme([emulator.getScreenRGB()])]
    assert np.array_equal(observation, np.stack(stack))
    for action in [FIRE, *actions(60)]:
        screens, total = [], 0
        for _ in range(4):
            total += emulator.act(action)
            screens.append(emulator.getScreenRGB())
        stack = [*stack[1:], acme(screens)]
        observation, reward, *_ = simulator.step(action)
        assert np.array_equal(observation, np.stack(stack))
        assert reward == total


def acme(screens: list[np.ndarray]) -> np.ndarray:
    pooled = np.max(np.stack(screens[-2:]), axis=0)
    gray = np.tensordot(pooled, [0.299, 0.587, 1 - (0.299 + 0.587)], (-1, 0)).astype(np.uint8)
    return np.asarray(Image.fromarray(gray).resize((84, 84), Image.Resampling.BILINEAR))


def test_the_action_set_is_full_and_a_quarter_of_frames_repeat_the_last_action() -> None:
    simulator = started("pong")
    assert simulator.action_space.n == 18
    frames: list[tuple[int, int]] = []
    last = 0
    for number in range(500):
        wanted = LEFT if number % 2 else RIGHT
        if any(simulator.step(wanted)[2:4]):
            simulator.reset()
            last = 0
            continue
        for action in simulator.executed:
            if last != wanted:
                frames.append((action, wanted))
            last = action
    repeated = np.mean([action != wanted for action, wanted in frames])
    assert abs(repeated - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(frames))


def test_a_restore_brings_back_the_action_that_may_stick() -> None:
    simulator = started("montezuma-revenge", sticky=0.9)
    while simulator._action != LEFT:
        simulator.step(LEFT)
    snapshot = simulator.save()
    first = []
    for _ in range(20):
        while simulator._action != RIGHT:  # the trajectory that is left behind
            simulator.step(RIGHT)
        simulator.restore(snapshot)
        simulator.step(FIRE)
        first.append(simulator.executed[0])
    assert set(first) <= {LEFT, FIRE}
    assert LEFT in first


def test_fresh_draws_anew_and_exact_replays() -> None:
    simulator = started("montezuma-revenge", 3)
    snapshot = simulator.save()
    expected = play(simulator, actions(5))

    def executed(mode: Any) -> tuple[Any, ...]:
        simulator.restore(snapshot, randomness=mode)
        return tuple(event[-1] for event in play(simulator, actions(5)))

    assert {executed("exact") for _ in range(3)} == {tuple(event[-1] for event in expected)}
    assert len({executed("fresh") for _ in range(3)}) == 3


def test_a_restored_observation_is_not_read_from_the_stale_screen() -> None:
    simulator = started("montezuma-revenge", 30)
    snapshot, expected = simulator.save(), simulator._observation.copy()
    play(simulator, actions(30, seed=5))
    stale = simulator._emulator.getScreenRGB()
    observation, _ = simulator.restore(snapshot)
    assert np.array_equal(observation, expected)
    # Why it has to be in the snapshot:
    assert np.array_equal(simulator._emulator.getScreenRGB(), stale)
    assert not np.array_equal(acme([stale]), expected[-1])


def test_the_cap_on_frames_truncates_and_goes_on_from_the_saved_value() -> None:
    simulator = started("montezuma-revenge", 5, max_frames=40)
    snapshot = simulator.save()
    for _ in range(2):
        ends = [event[3] for event in play(simulator, [0] * 20)]
        assert ends == [[False, False]] * 4 + [[False, True]]
        simulator.restore(snapshot)


def test_losing_a_life_ends_nothing() -> None:
    simulator = started("montezuma-revenge")
    lives = simulator._emulator.lives()
    while simulator._emulator.lives() == lives:
        _, _, terminated, truncated, _ = simulator.step(LEFT)
        assert not terminated and not truncated
    assert simulator.save()


class NoLives:
    """An emulator whose lives cannot be asked for."""

    def __init__(self, emulator: Any):
        self._emulator = emulator

    def __getattr__(self, name: str) -> Any:
        assert name != "lives", "PrivateEye does not save lives"
        return getattr(self._emulator, name)


def test_nothing_depends_on_lives_which_private_eye_does_not_save(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulator = started("private-eye", 30)
    monkeypatch.setattr(simulator, "_emulator", NoLives(simulator._emulator))
    snapshot = simulator.save()
    expected = play(simulator, actions(10))
    simulator.restore(snapshot, randomness="exact")
    assert play(simulator, actions(10)) == expected


@pytest.mark.parametrize("part", ["ale-py", "game", "sticky", "start"])
def test_a_snapshot_of_another_version_or_game_is_refused(part: str) -> None:
    simulator = started("pong")
    snapshot = simulator.save()
    words = [
        f"{part}=other" if word.startswith(f"{part}=") else word
        for word in snapshot.simulator.split()
    ]
    assert " ".join(words) != snapshot.simulator
    with pytest.raises(SnapshotError, match="cannot be restored"):
        simulator.restore(snapshot._replace(simulator=" ".join(words)))


@pytest.mark.parametrize("game", ["qbert", "tetris"])
def test_games_known_not_to_go_back_do_so(game: str) -> None:
    """Something outside the emulator's state changes when a game is first played."""
    simulator = Atari(game=game).make(0)
    simulator.reset(seed=0)
    snapshot = simulator.save()
    expected = play(simulator, actions(10))
    simulator.restore(snapshot, randomness="exact")
    assert play(simulator, actions(10)) == expected


def test_rewards_are_not_clipped() -> None:
    simulator = started("qbert")
    assert max(event[2] for event in play(simulator, actions(200))) > 1


def test_a_copy_is_refused_rather_than_silently_a_new_game() -> None:
    with pytest.raises(TypeError):
        copy.deepcopy(started("pong"))


def test_scores_by_the_treasure_room_bug_are_apart() -> None:
    simulator = started("montezuma-revenge", 2)
    before = simulator.metrics()["max_screen_score"]
    simulator.restore(simulator.save()._replace(screen_score=100_100.0))
    simulator.step(0)
    assert simulator.metrics()["max_screen_score"] == before
    assert simulator.metrics()["treasure_room_bug_score"] == 100_100.0


def test_a_snapshot_is_small() -> None:
    simulator = started("private-eye", 50)
    assert len(simulator.save().data) < 3000


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"game": "montezumas-revenge"}, "did you mean 'montezuma-revenge'"),
        ({"sticky": 1.0}, r"sticky must lie in \[0, 1\)"),
        ({"frame_skip": 0}, "frame_skip must be at least 1"),
    ],
)
def test_bad_settings_are_answered_with_a_sentence(settings: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Atari(**settings)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)
    monkeypatch.setitem(sys.modules, "ale_py.roms", None)
    with pytest.raises(UsageError, match=r"pip install 'uflp\[atari\]'"):
        Atari()
    assert "Atari" in SIMULATORS.summary("atari")  # so that `uflp list` works without it


def test_the_pyramid_lies_as_its_rooms_do() -> None:
    projection = PLACES["montezuma-revenge"].projection()
    assert projection.shape == (4, 9) and projection.unit == "room"
    # The first room is in the middle of the top floor, room 5 right below it.
    places = np.array([1, 5, 0, 4, 3, 8, 15, 23])
    cells = [divmod(int(cell), 9) for cell in projection.cells(places)]
    assert cells == [(0, 4), (1, 4), (0, 3), (1, 3), (1, 2), (2, 1), (3, 0), (3, 8)]
    assert len(set(projection.cells(np.arange(24)).tolist())) == 24
    # None of these is a room, nor takes the place of one.
    assert set(projection.cells(np.arange(24, 256)).tolist()) == {0}


def test_a_place_goes_back_with_the_state_but_not_out_of_the_log() -> None:
    # Of its own, since logs of the shared one are not taken back.
    simulator, other = (Atari(game="montezuma-revenge").make(0) for _ in range(2))
    simulator.reset(seed=0)
    assert simulator.place(None) == 1
    simulator._emulator.setRAM(3, 5)
    snapshot = simulator.save()
    simulator._log(0.0)
    simulator.reset()
    assert simulator.place(None) == 1 and simulator.metrics()["rooms"] == 2
    simulator.restore(snapshot)
    assert simulator.place(None) == 5
    other.load_logs(simulator.logs())
    assert other.metrics()["rooms"] == 2


def test_where_no_place_is_told_there_is_no_map() -> None:
    simulator = started("venture")
    assert simulator.projection is None and "rooms" not in simulator.metrics()
