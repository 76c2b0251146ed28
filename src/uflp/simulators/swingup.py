"""Cartpole Swingup: a pole that hangs down, and reward only near the top."""

from __future__ import annotations

import math
import struct
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from uflp.randomness import Randomness
from uflp.simulators.base import SEAL_WIDTH, Simulator
from uflp.simulators.projection import Projection, bins
from uflp.simulators.small_rng import RNG_WIDTH, pack_rng, small_rng, unpack_rng
from uflp.types import UsageError

_GRAVITY = 9.8
_CART_MASS = 1.0
_POLE_MASS = 0.1
_POLE_LENGTH = 0.5  # From the hinge to the centre of mass.
_FORCE = 10.0  # Of one push.


@dataclass(frozen=True)
class Swingup:
    """Cartpole Swingup: reward while the pole is up, still, and central.

    Actions 0, 1 and 2 push the cart to the left, not at all, and to the right. The rules are those
    of bsuite 0.3.6.

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
        """Return a simulator, whose first initial states are drawn from the seed."""
        return SwingupSimulator(self, seed)


class SwingupSimulator(Simulator):
    """Cartpole Swingup, with a flat observation of eight numbers.

    They are x and ẋ (over `x_threshold`), sin θ, cos θ, θ̇, the time (over `max_time`), and two
    signs that say whether x and θ̇ allow reward. θ is 0 when the pole is up.

    Chance only draws the initial state. `exact` covers it too, so that a simulator which goes on
    after a restore also starts its next episodes as the saved one would have.
    """

    def __init__(self, settings: Swingup, seed: int):
        self._settings = settings
        # Only a reset draws: between resets the generator rests as bytes, and a save copies them.
        self._packed_rng = pack_rng(small_rng(Randomness(seed).integer("swingup/initial-state")))
        self._state = _State(0.0, 0.0, math.pi, 0.0, 0.0)
        self._sine, self._cosine = np.sin(math.pi), np.cos(math.pi)  # Of θ.
        self.observation_space = spaces.Box(-np.inf, np.inf, (8,), np.float32)
        self.action_space = spaces.Discrete(3)
        listed = " ".join(f"{name}={value}" for name, value in asdict(settings).items())
        # bsuite's version names the rules, and is part of the stamps of snapshots on disk.
        self.stamp = f"swingup/1 {listed} bsuite=0.3.6"
        self.snapshot_width = _LAYOUT.size + SEAL_WIDTH
        self.projection = _PHASES

    def _reset(self, seed: int | None) -> tuple[np.ndarray, dict[str, Any]]:
        rng = small_rng(seed)
        if seed is None:
            unpack_rng(rng, self._packed_rng)
        spread = self._settings.init_range
        x, x_dot, theta, theta_dot = (rng.uniform(-spread, spread) for _ in range(4))
        self._packed_rng = pack_rng(rng)
        return self._go_to(_State(x, x_dot, math.pi + theta, theta_dot, 0.0)), {}

    def _step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        settings, push = self._settings, int(action) - 1
        observation = self._go_to(self._after(push))
        x, _, _, theta_dot, time = self._state
        reward = -1.0 * abs(push) * settings.move_cost
        if (
            self._cosine > settings.height_threshold
            and abs(theta_dot) < settings.theta_dot_threshold
            and abs(x) < settings.x_reward_threshold
        ):
            reward += 1.0
        terminated = bool(time > settings.max_time or abs(x) > settings.x_threshold)
        return observation, reward, terminated, False, {}

    def _after(self, push: int) -> _State:
        """Return the state one action later: Barto, Sutton and Anderson's cart and pole.

        The order of operations, and that squares are NumPy's but for the first θ̇ of an episode, is
        bsuite's: then the numbers are too, to the bit.
        """
        x, x_dot, theta, theta_dot, time = self._state
        sine, cosine, seconds = self._sine, self._cosine, self._settings.timescale
        mass = _CART_MASS + _POLE_MASS
        moment = _POLE_MASS * _POLE_LENGTH
        thrust = (push * _FORCE + moment * theta_dot**2 * sine) / mass
        theta_acceleration = (_GRAVITY * sine - cosine * thrust) / (
            _POLE_LENGTH * (4 / 3 - _POLE_MASS * cosine**2 / mass)
        )
        x_acceleration = thrust - moment * theta_acceleration * cosine / mass
        return _State(
            x + seconds * x_dot,
            x_dot + seconds * x_acceleration,
            (theta + seconds * theta_dot) % (2 * math.pi),
            theta_dot + seconds * theta_acceleration,
            time + seconds,
        )

    def _go_to(self, state: _State) -> np.ndarray:
        """Make a state the present one, and return the observation there."""
        self._state = state
        x, x_dot, theta, theta_dot, time = state
        self._sine, self._cosine = np.sin(theta), np.cos(theta)
        settings = self._settings
        return np.array(
            (
                x / settings.x_threshold,
                x_dot / settings.x_threshold,
                self._sine,
                self._cosine,
                theta_dot,
                time / settings.max_time,
                1.0 if abs(x) < settings.x_reward_threshold else -1.0,
                1.0 if abs(theta_dot) < settings.theta_dot_threshold else -1.0,
            ),
            np.float32,
        )

    def _save(self) -> bytes:
        return _LAYOUT.pack(*self._state, self._packed_rng)

    def _restore(self, data: bytes, *, exact: bool) -> tuple[np.ndarray, dict[str, Any]]:
        x, x_dot, theta, theta_dot, time, packed_rng = _LAYOUT.unpack(data)
        if time > 0:
            # Python and NumPy may round θ̇² differently: it comes back as what a step makes it.
            theta_dot = np.float64(theta_dot)
        if exact:
            self._packed_rng = packed_rng
        return self._go_to(_State(x, x_dot, theta, theta_dot, time)), {}

    def render(self) -> Any:
        """Return a picture of the track, the cart and the pole, uint8 [H, W, 3]."""
        state, reach = self._state, self._settings.x_threshold
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


class _State(NamedTuple):
    x: float
    x_dot: float
    theta: float
    theta_dot: float
    time: float


# The state, eight spare bytes (earlier versions kept the episode's return there), the generator.
_LAYOUT = struct.Struct(f"<5d8x{RNG_WIDTH}s")


_SPEED = 12.0  # Radians per second; the few states beyond count at the edge.


def _phase(observations: np.ndarray) -> np.ndarray:
    """Return the cells of the pole's angle, 0 when upright, and its angular velocity."""
    angle = np.arctan2(observations[:, 2], observations[:, 3])
    row = bins(observations[:, 4], _SPEED, -_SPEED, 48)
    return row * 60 + bins(angle, -np.pi, np.pi, 60)


_PHASES = Projection(
    ("angular velocity (rad/s)", "angle (rad, 0 is up)"),
    ((_SPEED, -_SPEED), (-np.pi, np.pi)),
    (48, 60),
    _phase,
)
