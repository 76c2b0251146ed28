"""Atari 2600 games on the Arcade Learning Environment, faithful to the last frame."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from PIL import Image

from uflp.cells import cell_id
from uflp.randomness import Randomness
from uflp.registry import unknown
from uflp.simulators.atari_snapshot import SIDE, STACKED, Codec, GameState
from uflp.simulators.base import Simulator, SnapshotError
from uflp.simulators.projection import Projection
from uflp.spaces import Frames
from uflp.state import State, StateError, real, whole_numbers
from uflp.types import Snapshot, UsageError

# Acme's weights of red, green and blue.
_LUMINANCE = np.array([0.299, 0.587, 1 - (0.299 + 0.587)])

TREASURE_ROOM_BUG = 100_000.0
"""Montezuma's screen scores above this come from a bug in the game's treasure room."""


@dataclass(frozen=True)
class Atari:
    """Any Atari 2600 game of the Arcade Learning Environment, by its name.

    Attributes:
        game: such as `montezuma-revenge`.
        sticky: probability that a frame repeats the action of the frame before.
        frame_skip: frames of a query.
        max_frames: frames after which an episode is truncated.
    """

    game: str = "montezuma-revenge"
    sticky: float = 0.25
    frame_skip: int = 4
    max_frames: int = 108_000

    def __post_init__(self) -> None:
        if self.game not in games():
            raise UsageError(unknown("Atari game", self.game, games()))
        if not 0 <= self.sticky < 1:
            raise UsageError(f"sticky must lie in [0, 1), not {self.sticky}")
        for name in ("frame_skip", "max_frames"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")

    def make(self, seed: int) -> AtariSimulator:
        """Return a simulator, whose sticky actions are drawn from the seed."""
        return AtariSimulator(self, seed)


def games() -> list[str]:
    """Return the names of all games."""
    return [name.replace("_", "-") for name in _ale().roms.get_all_rom_ids()]


@dataclass(frozen=True)
class Places:
    """Numbered places of a game, and how they lie.

    Attributes:
        byte: of the console's memory, holds the number of the present place.
        unit: what a place is called.
        rows: numbers of the places from left to right, top row first; each row is centred.
    """

    byte: int
    unit: str
    rows: tuple[tuple[int, ...], ...]

    def projection(self) -> Projection:
        """Return the places as a map; numbers that are not on it count in its first corner."""
        height, width = len(self.rows), max(map(len, self.rows))
        cells = np.zeros(256, np.int64)
        for row, places in enumerate(self.rows):
            first = row * width + (width - len(places)) // 2
            cells[list(places)] = first + np.arange(len(places))
        return Projection(
            axes=("floor", f"{self.unit} of the floor"),
            edges=((0, height), (0, width)),
            shape=(height, width),
            cells=lambda places: cells[places],
            unit=self.unit,
        )


PLACES: Mapping[str, Places] = {
    "montezuma-revenge": Places(
        byte=3,
        unit="room",
        rows=(tuple(range(3)), tuple(range(3, 8)), tuple(range(8, 15)), tuple(range(15, 24))),
    )
}


class AtariSimulator(Simulator):
    """A game as in the paper: gray 84 × 84, four frames stacked, full action set, sticky actions.

    Actions stick in here, not in the emulator, which neither saves the action that it would repeat
    nor the chance that it would do so. What is left of the emulator is deterministic, its initial
    state included, so a snapshot's noise is all in the generator beside it. Losing a life ends
    nothing, and there are no no-ops at the start.
    """

    replayable = True

    def __init__(self, settings: Atari, seed: int):
        self._settings = settings
        self._emulator = load(settings.game)
        self._screen = Screen(self._emulator)
        self._screen.catch()
        first = self._screen.gray()
        self._initial = self._emulator.cloneState()
        # Something that no state holds changes once a game is played (Q*bert and Tetris show it).
        self._emulator.act(0)
        self._codec = Codec(self._initial.serialize(), first)
        self._first = stacked(first)
        self._observation = self._first
        self._noise = np.random.PCG64(Randomness(seed).integer("atari"))
        self._draw = np.random.Generator(self._noise).random
        self._frames = 0
        self._action = 0
        self._cells: set[int] = set()
        self._places = PLACES.get(settings.game)
        self._visited: set[int] = set()
        self._memory = np.zeros(self._emulator.getRAMSize(), np.uint8)
        self.projection = None if self._places is None else self._places.projection()
        self._best = self._best_by_bug = 0.0
        self.observation_space = Frames(self._first.shape)
        self.action_space = spaces.Discrete(len(self._emulator.getLegalActionSet()))
        self.stamp = (
            f"atari/1 game={settings.game} sticky={settings.sticky} "
            f"frame_skip={settings.frame_skip} max_frames={settings.max_frames} "
            f"ale-py={version()} start={self._codec.start:08x}"
        )

    def metrics(self) -> dict[str, float]:
        """Return the cells seen and the highest screen score so far; a bug's score is apart.

        Where the game tells its places, also how many of them were reached, such as `rooms`.
        """
        scores = {"cells": len(self._cells), "max_screen_score": self._best}
        if self._places is not None:
            scores[f"{self._places.unit}s"] = len(self._visited)
        if self._settings.game == "montezuma-revenge":
            scores["treasure_room_bug_score"] = self._best_by_bug
        return scores

    def place(self, observation: np.ndarray) -> Any:
        """Return the number of the present place, where the game tells it."""
        if self._places is None:
            return observation
        self._emulator.getRAM(self._memory)
        return int(self._memory[self._places.byte])

    def logs(self) -> State:
        """Return what `metrics` is made of."""
        cells = np.fromiter(sorted(self._cells), np.int64, len(self._cells))
        return {
            "cells": cells,
            "places": sorted(self._visited),
            "best": self._best,
            "best_by_bug": self._best_by_bug,
        }

    def load_logs(self, logs: State) -> None:
        """Take the logs of an equal simulator."""
        self._cells = set(whole_numbers(logs, "cells", least=-(2**63), most=2**63 - 1))
        if not all(type(place) is int for place in logs["places"]):
            raise StateError("a place has no number")
        self._visited = set(logs["places"])
        self._best, self._best_by_bug = real(logs, "best"), real(logs, "best_by_bug")

    def join_logs(self, logs: State) -> None:
        """Record what another simulator has seen."""
        self._cells.update(logs["cells"].tolist())
        self._visited.update(logs["places"])
        self._best = max(self._best, float(logs["best"]))
        self._best_by_bug = max(self._best_by_bug, float(logs["best_by_bug"]))

    def _reset(self, seed: int | None) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            self._noise.state = np.random.PCG64(seed).state
        self._emulator.restoreState(self._initial)
        self._observation = self._first
        self._frames = self._action = 0
        self._log(0.0)
        return self._first, {}

    def _step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        settings, emulator = self._settings, self._emulator
        executed = bytearray()
        reward = 0.0
        terminated = truncated = False
        self._screen.begin()
        for frame, chance in enumerate(self._draw(settings.frame_skip)):
            if chance >= settings.sticky:
                self._action = int(action)
            reward += emulator.act(self._action)
            executed.append(self._action)
            self._frames += 1
            terminated = emulator.game_over()
            truncated = not terminated and self._frames >= settings.max_frames
            # The last two frames are pooled; of a step that ends early, what there is.
            if frame >= settings.frame_skip - 2 or terminated or truncated:
                self._screen.catch()
            if terminated or truncated:
                break
        self.executed = bytes(executed)
        self._observation = pushed(self._observation, self._screen.gray())
        self._log(self.screen_score + reward)
        return self._observation, float(reward), terminated, truncated, {}

    def _save(self) -> bytes:
        words = self._noise.state["state"]
        return self._codec.pack(
            GameState(
                self._frames,
                self._action,
                (words["state"], words["inc"]),
                self._emulator.cloneState().serialize(),
                self._observation,
            )
        )

    def _restore(self, data: bytes, *, exact: bool) -> tuple[np.ndarray, dict[str, Any]]:
        state = self._codec.unpack(data)
        actions = len(self._emulator.getLegalActionSet())
        if state.action >= actions or state.frames >= self._settings.max_frames:
            raise SnapshotError("no game has come to this action, or to this frame")
        self._emulator.restoreState(_ale().ALEState(state.emulator))
        self._frames, self._action = state.frames, state.action
        # The emulator's own screen stays stale until its next frame.
        self._observation = state.observation
        if exact:
            noise = self._noise.state
            noise["state"]["state"], noise["state"]["inc"] = state.noise
            self._noise.state = noise
        return state.observation, {}

    def observation_of(self, snapshot: Snapshot) -> np.ndarray:
        """Return the frames at a snapshot, which need no emulator to be decoded."""
        return self._codec.unpack(self._data_of(snapshot)).observation

    def by_bug(self, score: float) -> bool:
        """Return whether a screen score can only come from the treasure room's bug."""
        return self._settings.game == "montezuma-revenge" and score > TREASURE_ROOM_BUG

    def replay(self, actions: bytes) -> Iterator[tuple[float, np.ndarray]]:
        """Play actions frame by frame from the initial state, with no chance in between.

        Ends the episode that was under way. Yields the screen score and the screen, uint8
        [210, 160, 3], after each frame; stops when the game is over.
        """
        self._running = False
        self._emulator.restoreState(self._initial)
        score = 0.0
        for action in actions:
            score += self._emulator.act(action)
            yield score, self._emulator.getScreenRGB()
            if self._emulator.game_over():
                return

    def _log(self, score: float) -> None:
        """Record a state and its screen score."""
        self._cells.add(cell_id(self._observation))
        if self._places is not None:
            self._visited.add(self.place(self._observation))
        if self.by_bug(score):
            self._best_by_bug = max(self._best_by_bug, score)
        else:
            self._best = max(self._best, score)


class Screen:
    """The last two frames of an emulator, pooled into one gray image of 84 × 84, as Acme does."""

    def __init__(self, emulator: Any):
        self._emulator = emulator
        height, width = emulator.getScreenDims()
        self._frames = np.zeros((2, height, width, 3), np.uint8)
        self._pooled = np.zeros((height, width, 3), np.uint8)
        self._caught = 0

    def begin(self) -> None:
        """Forget the frames of the last step: pooling never reaches beyond one step."""
        self._caught = 0

    def catch(self) -> None:
        """Keep the emulator's present frame."""
        self._emulator.getScreenRGB(self._frames[self._caught % 2])
        self._caught += 1

    def gray(self) -> np.ndarray:
        """Return the maximum over what was caught last, gray, bilinear, uint8 [84, 84]."""
        first, second = self._frames if self._caught > 1 else self._frames[[0, 0]]
        np.maximum(first, second, out=self._pooled)
        gray = (self._pooled.reshape(-1, 3) @ _LUMINANCE).astype(np.uint8)
        image = Image.fromarray(gray.reshape(self._pooled.shape[:2]))
        return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR))


def stacked(frame: np.ndarray) -> np.ndarray:
    """Return the observation at a reset, uint8 [4, 84, 84]: one frame after three blank ones."""
    return pushed(np.zeros((STACKED, SIDE, SIDE), np.uint8), frame)


def pushed(observation: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Return the observation that follows: the oldest frame leaves, the new one comes last.

    It cannot be written to, so that it can be handed out and kept at the same time.
    """
    following = np.concatenate([observation[1:], frame[None]])
    following.flags.writeable = False
    return following


def version() -> str:
    """Return the version of ale-py, which decides the layout of an emulator's state."""
    return importlib.metadata.version("ale-py")


def load(game: str) -> Any:
    """Return an emulator at the initial state of a game, with nothing random in it."""
    ale_py = _ale()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator.setInt("random_seed", 0)
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(ale_py.roms.get_rom_path(game.replace("-", "_")))
    emulator.reset_game()
    return emulator


def _ale() -> Any:
    try:
        import ale_py.roms
    except ImportError as error:
        raise UsageError("Atari games need ale-py: pip install 'uflp[atari]'") from error
    return ale_py
