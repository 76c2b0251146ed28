"""Forged snapshots of games: every field is looked at before the emulator sees it."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ale_py")

from uflp.simulators import SIMULATORS, SnapshotError
from uflp.simulators.atari_layout import Layout
from uflp.simulators.atari_snapshot import GameState
from uflp.simulators.base import SEAL_WIDTH, seal
from uflp.types import Snapshot

TRUE = 0xFAB1FAB2
GAMES = ("montezuma-revenge", "pitfall2", "asteroids", "elevator-action", "robotank", "pong")
"""With cartridges of six kinds."""


@pytest.fixture(scope="module")
def simulators() -> dict[str, Any]:
    return {game: SIMULATORS["atari"](game=game).make(0) for game in GAMES}


def played(simulator: Any, seed: int = 0) -> Any:
    """Returns the snapshot of a game under way."""
    rng = random.Random(seed)
    simulator.reset(seed=seed)
    for _ in range(5 + seed):
        simulator.step(rng.randrange(18))
    return simulator.save()


def opened(simulator: Any, snapshot: Any) -> GameState:
    return simulator._codec.unpack(snapshot.data[:-SEAL_WIDTH])


def sealed(simulator: Any, snapshot: Any, state: GameState) -> Any:
    body = simulator._codec.pack(state)
    return Snapshot(snapshot.simulator, body + seal(body), 0.0)


def with_word(state: bytes, part: bytes, number: int, word: int) -> bytes:
    """Returns an emulator's state with another word, counted from the end of a part's name."""
    place = state.index(struct.pack("<i", len(part)) + part) + 4 + len(part) + 4 * number
    return state[:place] + struct.pack("<I", word % 2**32) + state[place + 4 :]


@pytest.mark.parametrize("game", GAMES)
def test_what_was_saved_is_restored(simulators: dict[str, Any], game: str) -> None:
    simulator = simulators[game]
    assert simulator._codec._layout is not None
    for seed in range(5):
        snapshot = played(simulator, seed)
        ahead = [simulator.step(3)[0].tobytes() for _ in range(5)]
        simulator.restore(snapshot, randomness="exact")
        assert [simulator.step(3)[0].tobytes() for _ in range(5)] == ahead


# By part, number of the word, and a value that it cannot have.
FIELDS = {
    "the size of the RAM": (b"M6532", 0, 2**20),
    "a byte of the RAM": (b"M6532", 7, 256),
    "a flag of the CPU": (b"M6502Low", 6, 1),
    "the program counter": (b"M6502Low", 5, 65536),
    "the shift of the timer": (b"M6532", 130, 40),
    "the beginning of the display": (b"TIA", 1, 0),
    "the end of the display": (b"TIA", 2, 2**31 - 1),
    "the last update": (b"TIA", 3, -(2**31)),
    "clocks to the end of a line": (b"TIA", 4, 10**6),
    "a motion": (b"TIA", 30, 16),
    "another motion": (b"TIA", 34, -1),
    "the position of a player": (b"TIA", 41, 160),
    "the position of the ball": (b"TIA", 45, -1),
    "a counter of motion": (b"TIA", 51, 4),
    "a slice of the cartridge": (b"CartridgeE0", 1, 8),
    "the number of slices": (b"CartridgeE0", 0, 2**24),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_cannot_be_is_refused(simulators: dict[str, Any], name: str) -> None:
    simulator = simulators["montezuma-revenge"]
    snapshot = played(simulator)
    state = opened(simulator, snapshot)
    forged = state._replace(emulator=with_word(state.emulator, *FIELDS[name]))
    with pytest.raises(SnapshotError):
        simulator.restore(sealed(simulator, snapshot, forged))
    simulator.restore(snapshot)  # Nothing has happened to the game.


@pytest.mark.parametrize(
    ("game", "part", "number", "word"),
    [
        ("elevator-action", b"CartridgeF8SC", 0, 2),
        ("elevator-action", b"CartridgeF8SC", 1, 10**6),
        ("pitfall2", b"CartridgeDPC", 0, 2),
        ("pitfall2", b"CartridgeDPC", 20, 2048),
        ("asteroids", b"CartridgeF8", 0, 7),
        ("robotank", b"CartridgeFE", 2, 5),
    ],
)
def test_a_bank_that_a_cartridge_does_not_have_is_refused(
    simulators: dict[str, Any], game: str, part: bytes, number: int, word: int
) -> None:
    simulator = simulators[game]
    snapshot = played(simulator)
    state = opened(simulator, snapshot)
    forged = state._replace(emulator=with_word(state.emulator, part, number, word))
    with pytest.raises(SnapshotError):
        simulator.restore(sealed(simulator, snapshot, forged))


def test_lengths_texts_and_ends_are_looked_at(simulators: dict[str, Any]) -> None:
    simulator = simulators["montezuma-revenge"]
    snapshot = played(simulator)
    state = opened(simulator, snapshot)
    good = state.emulator
    cases = [
        good[:-4],
        good + bytes(4),
        good[:24] + struct.pack("<i", -1) + good[28:],
        good[:24] + struct.pack("<i", 2**31 - 1) + good[28:],
        good.replace(b"System", b"Sistem"),
        good.replace(b"CartridgeE0", b"CartridgeF8"),
        good[:-12] + struct.pack("<I", TRUE) + good[-8:],  # Another generator is said to follow.
        b"",
        bytes(len(good)),
    ]
    for forged in cases:
        with pytest.raises(SnapshotError):
            simulator.restore(sealed(simulator, snapshot, state._replace(emulator=forged)))
    for change in ({"action": 18}, {"action": 255}, {"frames": 108_000}):
        with pytest.raises(SnapshotError):
            simulator.restore(sealed(simulator, snapshot, state._replace(**change)))


def test_a_generator_may_be_another_but_not_any_text(simulators: dict[str, Any]) -> None:
    simulator = simulators["montezuma-revenge"]
    snapshot = played(simulator)
    state = opened(simulator, snapshot)
    layout = simulator._codec._layout
    text = layout._generator
    first, _, rest = text.partition(b" ")
    for other, fits in ((b"7 " + rest, True), (b"x " + rest, False), (b"7", False)):
        size = struct.pack("<i", len(other))
        forged = state.emulator.replace(struct.pack("<i", len(text)) + text, size + other)
        inner = struct.pack("<i", len(forged) - 36)
        forged = forged[:24] + inner + forged[28:]
        if fits:
            assert layout.checked(forged) == forged
        else:
            with pytest.raises(SnapshotError):
                layout.checked(forged)
    assert first != b"7"


def test_a_clock_that_would_go_on_drawing_is_set_to_the_end_of_the_display(
    simulators: dict[str, Any],
) -> None:
    """The place that it would draw to is not part of the state."""
    simulator = simulators["montezuma-revenge"]
    state = opened(simulator, played(simulator))
    place = state.emulator.index(b"\3\0\0\0TIA") + 7
    start, stop = struct.unpack_from("<2i", state.emulator, place + 4)
    forged = with_word(state.emulator, b"TIA", 3, start)
    assert forged != state.emulator
    assert simulator._codec._layout.checked(forged) == with_word(forged, b"TIA", 3, stop)


def test_a_layout_that_is_not_known_is_said() -> None:
    for state in (b"", bytes(100), b"x" * 8000):
        with pytest.raises(SnapshotError):
            Layout(state)


def test_no_forged_game_ends_the_process(tmp_path: Path) -> None:
    """Fields of any values that pass, in a process of its own."""
    cases = Path(__file__).parent.parent / "long" / "forged_cases.py"
    command = [sys.executable, cases, "emulator", "0", "60", tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert '"taken": ' in ended.stdout
