"""Environments that save and restore themselves, by whatever names their authors chose."""

from __future__ import annotations

import inspect
from typing import Any

from uflp.simulators import attribute_reader as reading

PAIRS = (
    ("save", "restore"),
    ("get_state", "set_state"),
    ("clone_state", "restore_state"),
    ("clone_full_state", "restore_full_state"),
)
"""Names of a method that returns a state, and of one that takes it."""


class NativeCodec:
    """Reads and writes an environment through its own two methods.

    Its random number generator goes beside the state that they exchange: whether an author thought
    of it or not, an exact restore sets it, and a fresh one leaves it as it was.
    """

    def __init__(self, get: str, set_: str):
        self._get = get
        self._set = set_

    def read(self, env: Any) -> dict[str, Any]:
        """Returns what the environment says its state is, and its generator."""
        return {"state": getattr(env, self._get)(), "generator": _generator(env)}

    def held(self, env: Any) -> dict[str, Any]:
        """Returns the generator."""
        return {"generator": _generator(env)}

    def write(self, env: Any, parts: dict[str, Any]) -> None:
        """Hands a state to the environment."""
        generator = parts["generator"]
        bits = None if generator is None else reading.generator_state(generator)[1]
        getattr(env, self._set)(parts["state"])
        if generator is not None:
            reading.set_generator_state(generator, bits)
            env._np_random = generator


def native_codec(env: Any) -> NativeCodec | None:
    """Returns a codec for an environment that has two such methods, else None."""
    for get, set_ in PAIRS:
        if _required(env, get) == 0 and _required(env, set_) == 1:
            return NativeCodec(get, set_)
    return None


def _required(env: Any, method: str) -> int | None:
    """Returns how many arguments a method cannot do without; None if there is no such method.

    It tells MuJoCo's `set_state(qpos, qvel)`, which is not the state, from one that takes it.
    """
    function = getattr(type(env), method, None)
    if not callable(function):
        return None
    parameters = list(inspect.signature(function).parameters.values())[1:]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(p.default is p.empty and p.kind not in kinds for p in parameters)


def _generator(env: Any) -> Any:
    return getattr(env, "_np_random", None)
