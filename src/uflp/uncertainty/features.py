"""State features ψ(s) for the covariance: random Fourier features, a random network, one-hot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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
    """Multiplies vectors by weights, looking rows up where the vectors are one-hot ids."""
    if vectors.ndim == 1 and np.issubdtype(vectors.dtype, np.integer):
        return weights[vectors]
    return vectors.reshape(len(vectors), -1).astype(np.float64) @ weights
