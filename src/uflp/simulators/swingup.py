"""Cartpole Swingup: a pole that hangs down, and reward only near the top."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from bsuite.environments.cartpole import CartpoleState
from bsuite.experiments.cartpole_swingup.cartpole_swingup import CartpoleSwingup
from gymnasium import spaces

from uflp.randomness import Randomness
from uflp.simulators import bsuite
from uflp.simulators.base import SEAL_WIDTH, Simulator, SnapshotError
from uflp.simulators.projection import Projection, bins
from uflp.types import UsageError


@dataclass(frozen=True)
class Swingup:
    """Cartpole Swingup of bsuite: reward while the pole is up, still, and central.

    Attributes:
        height_threshold: reward needs cos θ above this.
        theta_dot_threshold: reward needs |θ̇| below this, in radians per second.
        x_reward_threshold: reward needs |x| below this.
        move_cost: cost of one push to the left or right.
        x_threshold: the episode ends where |x| exceeds this.
        timescale: seconds that one action lasts.
        max_time: seconds after which the episode ends; part of the task, so it terminates.
        init_range: each initial coordinate is uniform within this distance of hanging at rest.
    """

    height_threshold: float = 0.5
    theta_dot_threshold: float = 1.0
    x_reward_threshold: float = 1.0
    move_cost: float = 0.1
    x_threshold: float = 3.0
    timescale: float = 0.01
    max_time: float = 10.0
    init_range: float = 0.05

    def __post_init__(self) -> None:
        if not -1 <= self.height_threshold < 1:
            raise UsageError(
                f"Swingup needs a height_threshold from -1 to below 1, not {self.height_threshold}"
            )
        for name in ("theta_dot_threshold", "x_reward_threshold", "x_threshold", "timescale"):
            self._require(name, getattr(self, name) > 0, "above 0")
        self._require("max_time", 0 < self.max_time < math.inf, "above 0 and finite")
        for name in ("move_cost", "init_range"):
            self._require(name, getattr(self, name) >= 0, "of at least 0")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise UsageError(f"Swingup needs a {name} {what}, not {getattr(self, name)}")

    def make(self, seed: int) -> SwingupSimulator:
        """Returns a simulator, whose first initial states are drawn from the seed."""
        return SwingupSimulator(self, seed)


class SwingupSimulator(Simulator):
    """bsuite's Cartpole Swingup, with a flat observation of eight numbers.

    They are x and ẋ (over `x_threshold`), sin θ, cos θ, θ̇, the time (over `max_time`), and two
    signs that say whether x and θ̇ allow reward.

    Chance only draws the initial state. `exact` covers it too, so that a simulator which goes on
    after a restore also starts its next episodes as the saved one would have.
    """

    def __init__(self, settings: Swingup, seed: int):
        values = {field.name: getattr(settings, field.name) for field in fields(settings)}
        self._env = CartpoleSwingup(**values)
        self._x_threshold = settings.x_threshold
        # Only a reset draws: between resets the generator rests as bytes, and a save copies them.
        self._packed_rng = bsuite.pack_rng(
            bsuite.small_rng(Randomness(seed).integer("swingup/initial-state"))
        )
        self.observation_space = spaces.Box(-np.inf, np.inf, (8,), np.float32)
        self.action_space = spaces.Discrete(3)
        listed = " ".join(f"{name}={value}" for name, value in values.items())
        self.stamp = f"swingup/1 {listed} bsuite={bsuite.VERSION}"
        self.snapshot_width = _LAYOUT.size + SEAL_WIDTH
        self.projection = _PHASES

    def _reset(self, seed: int | None) -> tuple[np.ndarray, dict[str, Any]]:
        rng = bsuite.small_rng(seed)
        if seed is None:
            bsuite.unpack_rng(rng, self._packed_rng)
        # The environment draws through `self._rng`, so a generator put there is the one it uses.
        self._env._rng = rng
        observation = self._env.reset().observation
        self._packed_rng = bsuite.pack_rng(rng)
        return observation[0], {}

    def _step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = bsuite.outcome(self._env.step(action))
        return observation[0], reward, terminated, truncated, info

    def render(self) -> Any:
        """Returns a picture of the track, the cart and the pole, uint8 [H, W, 3]."""
        state, reach = self._env._state, self._x_threshold
        picture = np.full((200, 400, 3), 255, np.uint8)
        scale = 180 / reach  # pixels to a unit of length
        picture[99:101] = (160, 160, 160)
        x = 200 + float(np.clip(state.x, -reach, reach)) * scale
        picture[92:108, int(x) - 15 : int(x) + 15] = (40, 60, 90)
        right, up = np.meshgrid(np.arange(400) - x, 100 - np.arange(200))
        sine, cosine = math.sin(state.theta), math.cos(state.theta)
        along, across = right * sine + up * cosine, right * cosine - up * sine
        picture[(along >= 0) & (along <= 80) & (abs(across) < 3)] = (200, 80, 40)
        return picture

    def _save(self) -> bytes:
        return _LAYOUT.pack(*self._env._state, self._env._episode_return, self._packed_rng)

    def _restore(self, data: bytes, *, exact: bool) -> tuple[np.ndarray, dict[str, Any]]:
        try:
            x, x_dot, theta, theta_dot, time, episode_return, packed_rng = _LAYOUT.unpack(data)
        except struct.error as error:
            raise SnapshotError(f"not a snapshot of Swingup: {error}") from error
        if time > 0:
            # Python and NumPy may round θ̇² differently: it comes back as what a step makes it.
            theta_dot = np.float64(theta_dot)
        env = self._env
        env._state = CartpoleState(x, x_dot, theta, theta_dot, time)
        env._episode_return = episode_return
        # A new environment would take its first step for a reset.
        env._reset_next_step = False
        if exact:
            self._packed_rng = packed_rng
        return env.observation[0], {}


# x, ẋ, θ, θ̇, time, return of the episode, generator.
_LAYOUT = struct.Struct(f"<6d{bsuite.RNG_WIDTH}s")


_SPEED = 12.0  # Radians per second; the few states beyond count at the edge.


def _phase(observations: np.ndarray) -> np.ndarray:
    """Returns the cells of the pole's angle, 0 when upright, and its angular velocity."""
    angle = np.arctan2(observations[:, 2], observations[:, 3])
    row = bins(observations[:, 4], _SPEED, -_SPEED, 48)
    return row * 60 + bins(angle, -np.pi, np.pi, 60)


_PHASES = Projection(
    ("angular velocity (rad/s)", "angle (rad, 0 is up)"),
    ((_SPEED, -_SPEED), (-np.pi, np.pi)),
    (48, 60),
    _phase,
)
