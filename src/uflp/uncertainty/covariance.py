"""Feature covariance: u(s, a) = (φᵀΦ⁻¹φ)^(1/2), Eq. 9 of the paper.

With φ(s, a) = ψ(s) ⊗ e_a the matrix Φ falls into one block an action, each seeing only the states
in which that action was taken.

Two forms compute the same numbers. `VectorCovariance` keeps Φ_a⁻¹, d × d, for observations of any
kind. `TableCovariance` serves finitely many states s with feature matrix Ψ: multiplying
Sherman–Morrison by Ψ from both sides gives the same formula for K_a = ΨΦ_a⁻¹Ψᵀ with one-hot
vectors for features, whose diagonal holds all scores at once, whatever d is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import gymnasium
import numpy as np
from scipy.linalg import blas

from uflp import masks, spaces
from uflp.registry import unknown
from uflp.spaces import Actions, RealActions
from uflp.state import State, StateError, array, finite, number
from uflp.types import UsageError
from uflp.uncertainty.base import Predict, at_each, key_layout, probe_actions

Features = Callable[[np.ndarray], np.ndarray]
"""Maps observations [B, ...] to float64 features [B, d]."""


def fourier(inputs: int, size: int, bandwidth: float, rng: np.random.Generator) -> Features:
    """Random Fourier features of a Gaussian kernel (Rahimi & Recht 2007), ψ = √(2/d)·cos(Wx + b).

    Inner products approximate exp(−‖x − y‖² / 2·bandwidth²), so ‖ψ‖² is about 1.
    """
    weights = rng.normal(scale=1 / bandwidth, size=(inputs, size))
    phases = rng.uniform(0, 2 * np.pi, size)

    def features(vectors: np.ndarray) -> np.ndarray:
        return np.sqrt(2 / size) * np.cos(_project(vectors, weights) + phases)

    return features


def network(inputs: int, size: int, bandwidth: float, rng: np.random.Generator) -> Features:
    """A random two-layer ReLU network whose outputs are scaled to unit length."""
    hidden = rng.normal(scale=1 / bandwidth, size=(inputs, size))
    biases = rng.normal(size=size)
    out = rng.normal(scale=np.sqrt(2 / size), size=(size, size))

    def features(vectors: np.ndarray) -> np.ndarray:
        outputs = np.maximum(_project(vectors, hidden) + biases, 0) @ out
        # In a narrow network every unit may be off; such a state has no features.
        lengths = np.linalg.norm(outputs, axis=-1, keepdims=True)
        return outputs / np.where(lengths > 0, lengths, 1)

    return features


def one_hot(inputs: int, size: int, bandwidth: float, rng: np.random.Generator) -> Features:
    """The one-hot vector itself, with which covariance becomes exact counting."""
    return lambda ids: np.eye(inputs)[ids]


FEATURES = {"fourier": fourier, "network": network, "one-hot": one_hot}


def _project(vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Multiply vectors by weights, looking rows up where the vectors are one-hot ids."""
    if vectors.ndim == 1 and np.issubdtype(vectors.dtype, np.integer):
        return weights[vectors]
    return vectors.reshape(len(vectors), -1).astype(np.float64) @ weights


PENDING = 64


class InverseCovariance:
    """Φ⁻¹ for Φ = Φ₀ + Σ x xᵀ, by the Sherman–Morrison formula, in float64.

    Writing each correction into the matrix would sweep all of it twice a query. The latest ones
    wait as columns instead, Φ⁻¹ = base − U Uᵀ, and go in together as one matrix product once U is
    full. Only the lower triangle of `base` is kept.
    """

    def __init__(self, start: np.ndarray):
        """Take Φ₀⁻¹, symmetric [n, n]."""
        size = len(start)
        self._base = np.array(start, np.float64, order="F")  # a copy: it is overwritten
        self._columns = np.zeros((size, PENDING), order="F")
        self._pending = 0

    def row(self, index: int) -> np.ndarray:
        """Return row `index` of Φ⁻¹: its product with a one-hot vector."""
        base = self._base
        row = np.concatenate([base[index, :index], base[index:, index]])
        if self._pending:
            columns = self._columns[:, : self._pending]
            row -= columns @ columns[index]
        return row

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """Return Φ⁻¹x for one vector [n], or for each column of [n, B]."""
        multiply = blas.dsymv if vectors.ndim == 1 else blas.dsymm
        product = multiply(1.0, self._base, vectors, lower=1)
        columns = self._columns[:, : self._pending]
        return product - columns @ (columns.T @ vectors)

    def add(self, product: np.ndarray, gain: float) -> None:
        """Add x xᵀ to Φ, given Φ⁻¹x (`product`) and xᵀΦ⁻¹x (`gain`)."""
        self._columns[:, self._pending] = product / np.sqrt(1 + gain)
        self._pending += 1
        if self._pending == PENDING:
            self._base = blas.dsyrk(
                -1.0, self._columns, beta=1.0, c=self._base, lower=1, overwrite_c=1
            )
            self._pending = 0

    def state(self) -> State:
        """Return the matrix and the corrections that wait, each transposed: as they lie."""
        return {
            "base": self._base.T,
            "columns": self._columns.T,
            "pending": self._pending,
        }

    def load(self, state: State) -> None:
        """Take the matrix and the corrections of one of equal size."""
        self._base = finite(array(state["base"], self._base.T, "base"), "base").T
        self._columns = finite(array(state["columns"], self._columns.T, "columns"), "columns").T
        self._pending = number(state, "pending")
        if self._pending >= PENDING:
            raise StateError(f"{self._pending} corrections wait where {PENDING - 1} can")


@dataclass(frozen=True)
class Covariance:
    """Covariance of random features.

    Attributes:
        feature_size: d, the size of ψ(s), which is also the size of an action's block.
        feature_kind: `fourier`, `network`, or `one-hot` (exact counting, discrete spaces only).
        bandwidth: observations closer than this look alike to the features.
        regularization: λ on the diagonal of Φ at the start.
    """

    action_kinds: ClassVar[tuple[str, ...]] = ("numbered", "real")
    feature_size: int = 1500
    feature_kind: str = "fourier"
    bandwidth: float = 1.0
    regularization: float = 0.01

    def __post_init__(self) -> None:
        if self.feature_kind not in FEATURES:
            raise UsageError(unknown("feature_kind", self.feature_kind, FEATURES))
        if self.feature_size < 1:
            raise UsageError(f"feature_size must be at least 1, not {self.feature_size}")
        for name in ("bandwidth", "regularization"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}")

    def make(
        self, space: gymnasium.Space, actions: Actions, seed: int
    ) -> TableCovariance | VectorCovariance | PairCovariance:
        """Return the covariance for an observation space, with features drawn from a seed."""
        if isinstance(actions, RealActions):
            return self._of_pairs(space, actions, seed)
        ids = spaces.ids(space)
        if self.feature_kind == "one-hot" and ids is None:
            raise UsageError(f"one-hot features need discrete observations, and these are {space}")
        inputs = ids or int(np.prod(spaces.layout(space)[0]))
        draw = FEATURES[self.feature_kind]
        features = draw(inputs, self.feature_size, self.bandwidth, np.random.default_rng(seed))
        # The table's corrections are matrix products, several times as fast as the vector form's.
        if ids and (ids <= 4 * self.feature_size or self.feature_kind == "one-hot"):
            return TableCovariance(features(np.arange(ids)), actions, self.regularization)
        return VectorCovariance(features, space, self.feature_size, actions, self.regularization)

    def _of_pairs(self, space: gymnasium.Space, actions: RealActions, seed: int) -> PairCovariance:
        if not isinstance(space, gymnasium.spaces.Box) or self.feature_kind == "one-hot":
            raise UsageError(
                f"of real-valued actions, covariance needs fourier or network features of vectors, "
                f"and these are {self.feature_kind} features of {space}"
            )
        inputs = int(np.prod(space.shape)) + actions.size
        draw = FEATURES[self.feature_kind]
        features = draw(inputs, self.feature_size, self.bandwidth, np.random.default_rng(seed))
        return PairCovariance(
            features, space, self.feature_size, actions, self.regularization, seed
        )


class TableCovariance:
    """Covariance over finitely many states.

    Attributes:
        variance: float64 [ids, A], u² of every state and action.
    """

    knows_actions = True
    monotone = True
    key_shape = ()
    key_dtype = np.dtype(np.int64)

    def __init__(self, features: np.ndarray, actions: int, regularization: float):
        """Take the features of all states, [ids, d]."""
        self.ids = len(features)
        gram = features @ features.T / regularization
        self.variance = np.repeat(np.diag(gram)[:, None], actions, axis=1)
        self._blocks = [InverseCovariance(gram) for _ in range(actions)]

    def key_of(self, observation: int) -> int:
        """Return the observation, which is its own id."""
        return observation

    def observe(self, key: int, action: int) -> None:
        """Add a state's features to an action's block."""
        row = self._blocks[action].row(key)
        gain = row[key]
        self._blocks[action].add(row, gain)
        self.variance[:, action] -= row * row / (1 + gain)

    def score(self, keys: np.ndarray, predict: Predict) -> np.ndarray:
        """Return u(s, a) as [B, A]."""
        return np.sqrt(np.maximum(self.variance[keys], 0))

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s) as [B], that of the least certain action that is allowed."""
        return masks.only(self.score(keys, predict), allowed).max(axis=-1)

    def state(self) -> State:
        """Return the blocks, and the scores that follow them."""
        return {"variance": self.variance, "blocks": [block.state() for block in self._blocks]}

    def load(self, state: State) -> None:
        """Take what a covariance of equal features has seen."""
        self.variance = finite(array(state["variance"], self.variance, "variance"), "variance")
        for block, saved in zip(self._blocks, state["blocks"], strict=True):
            block.load(saved)


class VectorCovariance:
    """Covariance over observations of any kind; a key is the observation itself."""

    knows_actions = True
    monotone = True
    ids = None

    def __init__(
        self,
        features: Features,
        space: gymnasium.Space,
        size: int,
        actions: int,
        regularization: float,
    ):
        self.key_shape, self.key_dtype = key_layout(space)
        self._features = features
        start = np.eye(size) / regularization
        self._blocks = [InverseCovariance(start) for _ in range(actions)]
        # Key, ψ(s) and Φ_a⁻¹ψ(s) of the last single state that was scored: a bonus asks for it
        # just before the visit is observed.
        self._scored: tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None = None

    def key_of(self, observation: np.ndarray) -> np.ndarray:
        """Return the observation."""
        return observation

    def observe(self, key: np.ndarray, action: int) -> None:
        """Add a state's features to an action's block."""
        key = np.asarray(key, self.key_dtype)
        if self._scored is not None and np.array_equal(self._scored[0], key):
            _, feature, products = self._scored
            product = products[action]
        else:
            feature = self._features(key[None])[0]
            product = self._blocks[action].times(feature)
        self._blocks[action].add(product, feature @ product)
        self._scored = None

    def score(self, keys: np.ndarray, predict: Predict) -> np.ndarray:
        """Return u(s, a) as [B, A]."""
        if len(keys) == 1:
            return self._score_one(keys[0])[None]
        columns = self._features(keys).T
        products = [block.times(columns) for block in self._blocks]
        squares = [np.sum(columns * product, axis=0) for product in products]
        return np.sqrt(np.maximum(np.stack(squares, axis=-1), 0))

    def _score_one(self, key: np.ndarray) -> np.ndarray:
        """Return u(s, a) as [A], and keep what observing a visit to the state will need."""
        feature = self._features(key[None])[0]
        products = [block.times(feature) for block in self._blocks]
        self._scored = np.array(key), feature, products
        return np.sqrt(np.maximum([feature @ product for product in products], 0))

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s) as [B], that of the least certain action that is allowed."""
        return masks.only(self.score(keys, predict), allowed).max(axis=-1)

    def state(self) -> State:
        """Return the blocks."""
        return {"blocks": [block.state() for block in self._blocks]}

    def load(self, state: State) -> None:
        """Take what a covariance of equal features has seen."""
        for block, saved in zip(self._blocks, state["blocks"], strict=True):
            block.load(saved)


class PairCovariance:
    """Covariance of features φ(s, a) of observations and real-valued actions side by side.

    Actions count from -1 to 1, whatever their bounds; a key is the observation itself.
    """

    knows_actions = True
    monotone = True
    ids = None

    def __init__(
        self,
        features: Features,
        space: gymnasium.Space,
        size: int,
        actions: RealActions,
        regularization: float,
        seed: int,
    ):
        self.key_shape, self.key_dtype = key_layout(space)
        self._features = features
        self._actions = actions
        self._probes = probe_actions(actions, seed)
        self._block = InverseCovariance(np.eye(size) / regularization)

    def key_of(self, observation: np.ndarray) -> np.ndarray:
        """Return the observation."""
        return observation

    def observe(self, key: np.ndarray, action: np.ndarray) -> None:
        """Add a pair's features."""
        feature = self._features(self._pairs(np.asarray(key)[None], action[None, None]))[0]
        product = self._block.times(feature)
        self._block.add(product, feature @ product)

    def score(
        self, keys: np.ndarray, predict: Predict, actions: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s, a) of K actions of each state, [B, K]; of the probes where none are given."""
        if actions is None:
            actions = at_each(self._probes, len(keys))
        columns = self._features(self._pairs(keys, actions)).T
        squares = np.sum(columns * self._block.times(columns), axis=0)
        return np.sqrt(np.maximum(squares, 0)).reshape(len(keys), -1)

    def score_states(
        self, keys: np.ndarray, predict: Predict, allowed: np.ndarray | None = None
    ) -> np.ndarray:
        """Return u(s) as [B], that of the least certain of the probes."""
        return self.score(keys, predict).max(axis=-1)

    def state(self) -> State:
        """Return the matrix."""
        return {"blocks": [self._block.state()]}

    def load(self, state: State) -> None:
        """Take what a covariance of equal features has seen."""
        (saved,) = state["blocks"]
        self._block.load(saved)

    def _pairs(self, keys: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return states [B] beside K actions of each, [B·K, inputs]."""
        units = self._actions.units(actions)
        seen = np.repeat(keys.reshape(len(keys), -1), units.shape[1], axis=0)
        return np.concatenate([seen, units.reshape(len(seen), -1)], axis=-1)
