"""Random network distillation: u(s) = ‖f̂(s) − f(s)‖² / k, Eq. 11 of the paper over k.

Divided by the number of outputs, so that the width of a network is no matter to the size of an
intrinsic reward; restarts do not depend on it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np

from uflp import spaces
from uflp.spaces import Actions
from uflp.state import State, StateError, array, finite, number
from uflp.types import Action, UsageError
from uflp.uncertainty.base import Predict, key_layout

_TOGETHER = 1024
"""Observations that are scored at a time: more would leave the caches."""


@dataclass(frozen=True)
class RND:
    """Random network distillation: how badly a random network is predicted; of states alone.

    Attributes:
        rnd_width: k, of both layers after the torso, and of the outputs.
        rnd_learning_rate: step size of Adam for the predictor.
        rnd_batch: observations of an SGD step of the predictor; each is used once.
        rnd_period: one observation in so many is learned from.
    """

    action_kinds: ClassVar[tuple[str, ...]] = ("numbered", "real")
    rnd_width: int = 1024
    rnd_learning_rate: float = 1e-4
    rnd_batch: int = 128
    rnd_period: int = 4

    def __post_init__(self) -> None:
        if not self.rnd_learning_rate > 0:
            raise UsageError(f"rnd_learning_rate must be positive, not {self.rnd_learning_rate}")
        for name in ("rnd_width", "rnd_batch", "rnd_period"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")

    def make(self, space: gymnasium.Space, actions: Actions, seed: int) -> Distilled:
        """Return networks for an observation space, drawn from a seed."""
        return Distilled(self, space, seed)


class Distilled:
    """A random network, and a predictor of it that learns as observations come in.

    Until the predictor has taken its first step, by which time the observations' scale is known,
    all states score 0.
    """

    knows_actions = False
    monotone = False

    def __init__(self, settings: RND, space: gymnasium.Space, seed: int):
        # The room is free of JAX, so that those who count states need not wait for it.
        from uflp.networks.distillation import make_distillation

        shape, _ = spaces.layout(space)
        self.ids = spaces.ids(space)
        self.key_shape, self.key_dtype = key_layout(space)
        # Whatever is neither an id nor a stack of frames is just numbers.
        vector = self.ids is None and not isinstance(space, spaces.Frames)
        self._shape = (int(np.prod(shape)),) if vector else shape
        self._batch = np.zeros((settings.rnd_batch, *self._shape), self.key_dtype)
        self._period = settings.rnd_period
        self._observed = 0
        self._functions = make_distillation(
            self._shape, self.ids, settings.rnd_width, settings.rnd_learning_rate
        )
        self._seed = seed
        self._learned: Any = None
        self._moments = RunningMoments(self._shape)
        self._normalise()

    @functools.cached_property
    def _drawn(self) -> tuple[Any, Any]:
        # Drawn when first needed: those who only ask what a key is need not wait for a device.
        return self._functions.init(self._seed)

    @property
    def target(self) -> Any:
        """Parameters of the random network, which never change."""
        return self._drawn[0]

    @property
    def predictor(self) -> Any:
        """State of the predictor: what has been learned, or what was drawn."""
        return self._drawn[1] if self._learned is None else self._learned

    def key_of(self, observation: Any) -> Any:
        """Return the observation."""
        return observation

    def observe(self, key: Any, action: Action) -> None:
        """Record an observation; learn once there are enough."""
        self._observed += 1
        if self._observed % self._period:
            return
        place = (self._observed // self._period - 1) % len(self._batch)
        self._batch[place] = np.reshape(key, self._shape)
        if place == len(self._batch) - 1:
            self._learn()

    def score(
        self, keys: np.ndarray, predict: Predict, actions: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s) as [B]."""
        scores = np.zeros(len(keys))
        if not self._moments.count:
            return scores
        for start in range(0, len(keys), _TOGETHER):
            some = keys[start : start + _TOGETHER].reshape(-1, *self._shape)
            # Filled up to a power of two, so that few shapes are ever compiled.
            batch = np.zeros((1 << (len(some) - 1).bit_length(), *self._shape), self.key_dtype)
            batch[: len(some)] = some
            errors = self._functions.errors(self.target, self.predictor, batch, self._scaling)
            scores[start : start + len(some)] = np.asarray(errors)[: len(some)]
        return scores

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s) as [B]."""
        return self.score(keys, predict)

    def state(self) -> State:
        """Return the predictor, the moments, and the observations that wait to be learned from."""
        from uflp.networks.parameters import saved_tree

        waiting = self._observed // self._period % len(self._batch)
        return {
            "observed": self._observed,
            "waiting": self._batch[:waiting],
            "moments": self._moments.state(),
            "predictor": saved_tree(self.predictor),
        }

    def load(self, state: State) -> None:
        """Take what networks of equal settings and seed have learned."""
        from uflp.networks.parameters import loaded_tree

        self._observed = number(state, "observed")
        waiting = self._observed // self._period % len(self._batch)
        self._batch[:waiting] = array(state["waiting"], self._batch[:waiting], "waiting")
        self._moments.load(state["moments"])
        self._learned = loaded_tree(state["predictor"], self.predictor)
        self._normalise()

    def _learn(self) -> None:
        """Take one SGD step on the observations that have come in since the last."""
        self._moments.add(self._batch)
        self._normalise()
        self._learned = self._functions.fit(self.target, self.predictor, self._batch, self._scaling)
        # JAX may still be reading the one that it was given.
        self._batch = np.zeros_like(self._batch)

    def _normalise(self) -> None:
        """Take the moments as they are now to normalise by."""
        self._scaling = (
            self._moments.mean.astype(np.float32),
            (1 / self._moments.deviation).astype(np.float32),
        )


_LEAST_DEVIATION = 1e-4


class RunningMoments:
    """Mean and variance of all that was added, in float64.

    Attributes:
        count: observations so far.
        mean: of them, [...].
    """

    def __init__(self, shape: tuple[int, ...]):
        self.count = 0
        self.mean = np.zeros(shape)
        self._squares = np.zeros(shape)

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation [...], never 0: what never changed will stand out when it does."""
        return np.maximum(np.sqrt(self._squares / max(1, self.count)), _LEAST_DEVIATION)

    def add(self, batch: np.ndarray) -> None:
        """Add observations [B, ...], by the pairwise formula of Chan et al. (1979)."""
        total = self.count + len(batch)
        mean = batch.mean(axis=0, dtype=np.float64)
        difference = mean - self.mean
        self._squares += np.square(batch - mean).sum(axis=0)
        self._squares += np.square(difference) * (self.count * len(batch) / total)
        self.mean += difference * (len(batch) / total)
        self.count = total

    def state(self) -> State:
        """Return the sums."""
        return {"count": self.count, "mean": self.mean, "squares": self._squares}

    def load(self, state: State) -> None:
        """Take the sums of equal observations."""
        self.count = number(state, "count")
        self.mean = finite(array(state["mean"], self.mean, "mean"), "mean")
        self._squares = finite(array(state["squares"], self._squares, "squares"), "squares")
        if (self._squares < 0).any():
            raise StateError("a sum of squares is negative")
