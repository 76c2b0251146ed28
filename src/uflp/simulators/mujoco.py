"""The state of a MuJoCo simulation, for the attribute reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import eq
from typing import Any

import numpy as np

from uflp.simulators.base import SnapshotError

IN_THE_STATE = frozenset(
    [
        "qpos",
        "qvel",
        "act",
        "qacc_warmstart",
        "ctrl",
        "qfrc_applied",
        "xfrc_applied",
        "eq_active",
        "mocap_pos",
        "mocap_quat",
        "userdata",
        "plugin_state",
        "history",
    ]
)
"""Arrays of `MjData` that `mjSTATE_INTEGRATION` includes."""

_LARGE = 1 << 20
"""Bytes of an array of the model (a mesh, a texture) that nobody is taken to edit."""


class MjDataCodec:
    """Reads and writes `mujoco.MjData`, all arrays of fixed size included.

    `mjSTATE_INTEGRATION`, which includes warm starts, decides where the physics goes. It is not all
    that an environment sees: MuJoCo leaves derived quantities (positions of bodies, forces of
    contacts) one substep behind, and rewards are made of them. So every array of fixed size goes
    with it. Arrays that grow and shrink with the contacts are computed anew.

    Attributes:
        edited: names of arrays of the model that the environment writes into.
    """

    def __init__(self) -> None:
        # The model is kept beside its names: an id is unique only while its object lives.
        self._names: dict[int, tuple[Any, list[str]]] = {}
        self.edited: list[str] = []

    def read(self, data: Any) -> dict[str, Any]:
        """Return the integration state, and the arrays of fixed size end to end."""
        import mujoco

        model = data.model
        state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        arrays = b"".join(getattr(data, name).tobytes() for name in self.fixed(model))
        parts = {"state": state.tobytes(), "arrays": arrays}
        if self.edited:
            parts["model"] = b"".join(getattr(model, name).tobytes() for name in self.edited)
        return parts

    def held(self, data: Any) -> None:
        """Return None: the physics draws no random numbers."""

    def write(self, data: Any, parts: dict[str, Any]) -> None:
        """Put the simulation into a state that `read` returned."""
        import mujoco

        model, kind = data.model, mujoco.mjtState.mjSTATE_INTEGRATION
        if "model" in parts:
            _fill([getattr(model, name) for name in self.edited], parts["model"])
        state = np.frombuffer(parts["state"])
        mujoco.mj_setState(model, data, state, kind)
        mujoco.mj_forward(model, data)
        _fill([getattr(data, name) for name in self.fixed(model)], parts["arrays"])
        # Once more: computing the rest has moved the warm start.
        mujoco.mj_setState(model, data, state, kind)

    def fixed(self, model: Any) -> list[str]:
        """Return the names of the arrays whose size the model alone decides."""
        if id(model) not in self._names:
            import mujoco

            # Where nothing was computed yet there are no contacts, and their arrays are empty.
            names = list(_arrays(mujoco.MjData(model)))
            self._names[id(model)] = model, names
        return self._names[id(model)][1]


class UnplannedError(Exception):
    """Something has changed that was taken for constant."""


class CompactMjDataCodec:
    """Reads and writes one `mujoco.MjData`: the integration state, and arrays that it needs.

    Numbers of the state that are as in a new simulation (forces that nobody applies, for one) are
    left out.
    """

    def __init__(
        self,
        data: Any,
        written: Sequence[str],
        constant: Mapping[str, bytes],
        edited: Sequence[str],
    ):
        """Take a simulation.

        Args:
            data: the simulation; the codec is for this one only.
            written: arrays of it that go with the state.
            constant: contents of arrays of it that never change.
            edited: arrays of the model that go with the state.
        """
        import mujoco

        self.data, self._model = data, data.model
        self._written = [getattr(data, name) for name in written]
        self._constant = [getattr(data, name) for name in constant]
        self._views = list(map(memory, self._constant))
        self._contents = [memory(np.frombuffer(content, np.uint8)) for content in constant.values()]
        self._edited = [getattr(self._model, name) for name in edited]
        self._kind = mujoco.mjtState.mjSTATE_INTEGRATION
        new = self._state_of(mujoco.MjData(self._model))
        self._new = new.view(np.int64)
        self._state = np.empty_like(new)
        self._bits = self._state.view(np.int64)
        self._mask_width = (len(new) + 7) // 8

    def read(self, data: Any) -> bytes:
        """Return the state, or raise `UnplannedError` if a constant array has changed."""
        import mujoco

        if data is not self.data or not self._intact():
            raise UnplannedError
        mujoco.mj_getState(self._model, data, self._state, self._kind)
        changed = self._bits != self._new
        parts = [np.packbits(changed).tobytes(), self._bits[changed].tobytes()]
        parts += [array.tobytes() for array in self._edited]
        parts += [array.tobytes() for array in self._written]
        return b"".join(parts)

    def held(self, data: Any) -> None:
        """Return None: the physics draws no random numbers."""

    def write(self, data: Any, content: bytes) -> None:
        """Put the simulation into a state that `read` returned."""
        import mujoco

        if data is not self.data:
            raise SnapshotError("the simulation is another one than the snapshot is made for")
        if not self._intact():
            for array, before in zip(self._constant, self._contents, strict=True):
                _fill([array], bytes(before))
        mask = np.frombuffer(content, np.uint8, self._mask_width)
        changed = np.unpackbits(mask, count=len(self._new)).view(bool)
        bits = self._new.copy()
        count = np.count_nonzero(changed)
        bits[changed] = np.frombuffer(content, np.int64, count, self._mask_width)
        state = bits.view(np.float64)
        start = _fill(self._edited, content, self._mask_width + 8 * int(count))
        mujoco.mj_setState(self._model, data, state, self._kind)
        mujoco.mj_forward(self._model, data)
        end = _fill(self._written, content, start)
        if end != len(content):
            raise SnapshotError("the state of the simulation has another length")
        # Once more: computing the rest has moved the warm start.
        mujoco.mj_setState(self._model, data, state, self._kind)

    def _intact(self) -> bool:
        return all(map(eq, self._views, self._contents))

    def _state_of(self, data: Any) -> np.ndarray:
        import mujoco

        state = np.empty(mujoco.mj_stateSize(self._model, self._kind))
        mujoco.mj_getState(self._model, data, state, self._kind)
        return state


class MjDataWatch:
    """Finds out which arrays of a simulation and of its model change.

    Attributes:
        edited: names of arrays of the model that have changed since the last look.
        constant: contents of arrays of the simulation that have not.
    """

    def __init__(self, data: Any, names: Iterable[str]):
        self._data = data
        self._model = {
            name: array.tobytes()
            for name, array in _arrays(data.model).items()
            if array.nbytes < _LARGE
        }
        self.edited: list[str] = []
        self.constant = {
            name: getattr(data, name).tobytes() for name in names if name not in IN_THE_STATE
        }

    def look(self) -> None:
        """Compare all arrays with what they were at first."""
        self.edited += [
            name
            for name, before in self._model.items()
            if name not in self.edited and getattr(self._data.model, name).tobytes() != before
        ]
        self.constant = {
            name: before
            for name, before in self.constant.items()
            if getattr(self._data, name).tobytes() == before
        }

    def undo(self) -> None:
        """Put the arrays of the model back."""
        for name in self.edited:
            _fill([getattr(self._data.model, name)], self._model[name])


def needed_arrays(
    codec: MjDataCodec, data: Any, constant: Iterable[str], outcomes: Sequence[Callable[..., Any]]
) -> tuple[list[str], list[str]] | None:
    """Return which arrays a snapshot must hold, and which must stay constant.

    An array is left out if what follows a restore is the same to the bit, in every array and every
    attribute, after it was filled with other numbers: then it is computed before it is read.

    Args:
        codec: reads the whole simulation.
        data: the simulation.
        constant: names of arrays that have not changed so far.
        outcomes: each restores a state, calls the function that it is given, goes on, and returns
            all there is then.

    Returns:
        Two lists of names; None if nothing can be left out, because what follows a restore is not
        the same each time.
    """
    names = [name for name in codec.fixed(data.model) if name not in IN_THE_STATE]
    kept: list[str] = []
    fixed: list[str] = []
    for outcome in outcomes:
        outcome(lambda: None)  # Memory that MuJoCo does not set at first has settled after this.
        expected = outcome(lambda: None)
        if outcome(lambda: None) != expected:
            return None

        def enough(some: Sequence[str], outcome: Any = outcome, expected: Any = expected) -> bool:
            return outcome(lambda: _reduce(codec, data, names, some)) == expected

        if not enough([*kept, *fixed]):
            for name in constant:
                if name not in fixed and not enough([other for other in names if other != name]):
                    fixed.append(name)
        while not enough([*kept, *fixed]):
            rest = [name for name in names if name not in kept and name not in fixed]
            # Smallest number of arrays from the first on that are enough: the last is needed.
            low, high = 1, len(rest)
            while low < high:
                middle = (low + high) // 2
                if enough([*kept, *fixed, *rest[:middle]]):
                    high = middle
                else:
                    low = middle + 1
            if not rest or not enough([*kept, *fixed, *rest[:low]]):
                return None
            kept.append(rest[low - 1])
    return [name for name in names if name in kept], fixed


def _reduce(codec: MjDataCodec, data: Any, names: Sequence[str], kept: Sequence[str]) -> None:
    """Write some arrays back only, and other numbers into the rest."""
    small = CompactMjDataCodec(data, kept, {}, codec.edited)
    small.write(data, small.read(data))
    for name in names:
        array = getattr(data, name)
        # Whole numbers are often addresses, and wrong ones would end the process.
        if name not in kept and array.dtype.kind == "f":
            # Little is enough where every bit is compared, and much would make the physics explode.
            array[...] = array * (1 + 2**-10) + 1e-6


def memory(array: np.ndarray) -> memoryview:
    """Return a view of a contiguous array as whole numbers, which is quick to compare."""
    kind: Any = np.int64 if array.nbytes % 8 == 0 else np.uint8
    flat: Any = array.reshape(-1).view(kind)
    return memoryview(flat)


def _arrays(owner: Any) -> dict[str, np.ndarray]:
    """Return the arrays among the attributes of a simulation or a model that can be written."""
    found = {name: getattr(owner, name) for name in dir(owner) if name[0] != "_"}
    return {
        name: array
        for name, array in found.items()
        if isinstance(array, np.ndarray) and array.size and array.flags.writeable
    }


def _fill(arrays: Sequence[np.ndarray], content: bytes, start: int = 0) -> int:
    """Write bytes into arrays, one after the other; return where they end."""
    for array in arrays:
        saved = np.frombuffer(content, array.dtype, array.size, start)
        array[...] = saved.reshape(array.shape)
        start += array.nbytes
    return start
