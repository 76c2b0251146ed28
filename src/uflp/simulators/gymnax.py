"""Environments of gymnax, which are pure functions in JAX, as simulators."""

from __future__ import annotations

import functools
import importlib.metadata
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from uflp.registry import unknown
from uflp.simulators.base import SEAL_WIDTH, Simulator
from uflp.types import UsageError

_NEVER = 2**31 - 1


@dataclass(frozen=True)
class Gymnax:
    """Any environment of gymnax, by its id; needs the extra `gymnax`.

    Attributes:
        id: such as `CartPole-v1` or `Breakout-MinAtar`.
    """

    id: str = "CartPole-v1"

    def __post_init__(self) -> None:
        if self.id not in registered():
            raise UsageError(unknown("gymnax id", self.id, registered()))

    def make(self, seed: int) -> GymnaxSimulator:
        """Return a simulator; the seed is that of its randomness until `reset` is given one."""
        return GymnaxSimulator(compiled(self.id), seed)


def registered() -> list[str]:
    """Return the ids of all environments of gymnax."""
    try:
        from gymnax.registration import registered_envs
    except ImportError as error:
        raise UsageError("gymnax is not installed: pip install 'uflp[gymnax]'") from error
    return list(registered_envs)


class Functions(NamedTuple):
    """An environment's functions, compiled.

    Randomness is that of a key, uint32 [2], at a count. A state is all that gymnax's pytree holds,
    as uint8 [S]: one argument is quicker to hand over than its leaves, and it is saved as it is.

    Attributes:
        stamp: names the environment, its version and the layout of its state.
        observation_space: of observations.
        action_space: of actions.
        reset: from key and count to a state and the observation there.
        step: from state, action, key and count to a state, the observation there, and float32 [3]:
            the reward, whether the task ended, and whether the episode was cut short.
        width: S.
    """

    stamp: str
    observation_space: gymnasium.spaces.Box
    action_space: gymnasium.Space[Any]
    reset: Callable[[Any, Any], tuple[Any, Any]]
    step: Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]
    width: int


@functools.cache
def compiled(name: str) -> Functions:
    """Compile an environment of gymnax; all simulators of it share the functions.

    The limit of steps that gymnax gives every environment is not part of the task, but in bsuite's
    experiments it is.
    """
    import gymnax
    import jax

    version = importlib.metadata.version("gymnax")
    # Tracing tells whoever listens about gymnax's use of JAX.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            env, params = gymnax.make(name)
            layout = Layout(jax.eval_shape(env.reset_env, jax.random.key(0), params)[1])
            unlimited = params
            if not name.endswith("-bsuite"):
                unlimited = params.replace(max_steps_in_episode=_NEVER)
            space = _observations(env.observation_space(params), name)

            @jax.jit
            def reset(key: Any, count: Any) -> tuple[Any, Any]:
                seen, state = env.reset_env(_key(key, count), params)
                return layout.packed(state), seen.astype(space.dtype)

            @jax.jit
            def step(state: Any, action: Any, key: Any, count: Any) -> tuple[Any, Any, Any]:
                seen, state, reward, done, _ = env.step_env(
                    _key(key, count), layout.unpacked(state), action, params
                )
                ended = done & env.is_terminal(state, unlimited)
                outcome = jax.numpy.stack([reward, ended, done & ~ended]).astype(np.float32)
                return layout.packed(state), seen.astype(space.dtype), outcome

            actions = _actions(env.action_space(params))
            key = np.zeros(2, np.uint32)
            state, _ = reset(key, np.uint32(0))
            step(state, _handed(actions.sample(), actions), key, np.uint32(0))
        except Exception as error:  # some want data from the internet, or another JAX
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise UsageError(f"gymnax {version} cannot make {name}: {reason}") from error
    stamp = f"gymnax/1 {name} gymnax={version} state={layout.checksum:08x}"
    return Functions(stamp, space, actions, reset, step, layout.width)


class GymnaxSimulator(Simulator):
    """An environment of gymnax.

    A snapshot is its state, the observation, and where its randomness is: a key and a count of the
    calls that have drawn from it.
    """

    def __init__(self, functions: Functions, seed: int):
        self._functions = functions
        self.stamp = functions.stamp
        self.observation_space = functions.observation_space
        self.action_space = functions.action_space
        self._observation = np.zeros(self.observation_space.shape, self.observation_space.dtype)
        self._state: Any = np.zeros(functions.width, np.uint8)
        self._seed(seed)
        parts = (functions.width, self._observation.nbytes, self._key.nbytes, self._count.nbytes)
        self._ends = np.cumsum(parts).tolist()
        self.snapshot_width = self._ends[-1] + SEAL_WIDTH

    def _seed(self, seed: int) -> None:
        self._key = np.random.SeedSequence(seed).generate_state(2, np.uint32)
        self._count = np.zeros(1, np.uint32)

    def _reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._seed(seed)
        self._state, seen = self._functions.reset(self._key, self._count[0])
        return self._show(seen), {}

    def _step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        action = _handed(action, self.action_space)
        self._state, seen, outcome = self._functions.step(
            self._state, action, self._key, self._count[0]
        )
        reward, terminated, truncated = np.asarray(outcome).tolist()
        return self._show(seen), reward, bool(terminated), bool(truncated), {}

    def _show(self, seen: Any) -> np.ndarray:
        self._count = self._count + np.uint32(1)
        self._observation = np.asarray(seen)
        return self._observation.copy()

    def _save(self) -> bytes:
        parts = (np.asarray(self._state), self._observation, self._key, self._count)
        return b"".join(part.tobytes() for part in parts)

    def _restore(self, data: bytes, *, exact: bool) -> tuple[Any, dict[str, Any]]:
        state, seen, key, count = np.split(np.frombuffer(data, np.uint8), self._ends[:-1])
        self._observation = seen.view(self._observation.dtype).reshape(self._observation.shape)
        self._state = state
        if exact:
            self._key, self._count = key.view(np.uint32), count.view(np.uint32)
        return self._observation.copy(), {}


class Layout:
    """Layout of a pytree of arrays in bytes, leaf after leaf.

    Attributes:
        width: bytes in all.
        checksum: of the names, shapes and types of the leaves.
    """

    def __init__(self, like: Any):
        """Take a pytree of arrays, or of their shapes and types."""
        import jax

        paths, tree = jax.tree.flatten_with_path(like)
        self._tree: Any = tree
        self._leaves = [(leaf.shape, np.dtype(leaf.dtype)) for _, leaf in paths]
        sizes = [int(np.prod(shape)) * kind.itemsize for shape, kind in self._leaves]
        self._ends = np.cumsum(sizes).tolist()
        self.width = self._ends[-1]
        names = [jax.tree_util.keystr(path) for path, _ in paths]
        self.checksum = zlib.crc32(repr([names, self._leaves]).encode())

    def packed(self, tree: Any) -> Any:
        """Return the bytes, uint8 [width]."""
        import jax
        import jax.numpy as jnp

        def raw(leaf: Any, kind: np.dtype) -> Any:
            # A truth value is one byte, which has no bits to be read otherwise.
            leaf = jnp.asarray(leaf, kind).astype(np.uint8 if kind.kind == "b" else kind)
            return jax.lax.bitcast_convert_type(leaf, np.uint8).ravel()

        leaves = zip(self._tree.flatten_up_to(tree), self._leaves, strict=True)
        return jnp.concatenate([raw(leaf, kind) for leaf, (_, kind) in leaves])

    def unpacked(self, data: Any) -> Any:
        """Return the pytree."""
        import jax
        import jax.numpy as jnp

        def read(raw: Any, shape: tuple[int, ...], kind: np.dtype) -> Any:
            if kind.kind == "b":
                return raw.reshape(shape).astype(bool)
            raw = raw.reshape(*shape, kind.itemsize) if kind.itemsize > 1 else raw.reshape(shape)
            return jax.lax.bitcast_convert_type(raw, kind)

        pieces = zip(jnp.split(data, self._ends[:-1]), self._leaves, strict=True)
        return self._tree.unflatten([read(raw, *leaf) for raw, leaf in pieces])


def _key(key: Any, count: Any) -> Any:
    import jax

    return jax.random.fold_in(jax.random.wrap_key_data(key, impl="threefry2x32"), count)


def _observations(space: Any, name: str) -> gymnasium.spaces.Box:
    """Return what observations are: floats, but for the images of MinAtar, which are bits."""
    low, high = (np.broadcast_to(np.asarray(end), space.shape) for end in (space.low, space.high))
    kind = np.uint8 if name.endswith("-MinAtar") else np.float32
    return gymnasium.spaces.Box(low.astype(kind), high.astype(kind), dtype=kind)


def _actions(space: Any) -> gymnasium.Space[Any]:
    if hasattr(space, "n"):
        return gymnasium.spaces.Discrete(int(space.n))
    low, high = (np.broadcast_to(np.asarray(end), space.shape) for end in (space.low, space.high))
    return gymnasium.spaces.Box(low.astype(np.float32), high.astype(np.float32))


def _handed(action: Any, space: gymnasium.Space[Any]) -> Any:
    """Return an action as it is handed over, always of one type."""
    return np.asarray(action, np.int32 if space.shape == () else np.float32)
