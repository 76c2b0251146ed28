"""The state of a MuJoCo simulation, for the attribute reader."""

from __future__ import annotations

from typing import Any

import numpy as np


class MjDataCodec:
    """Reads and writes `mujoco.MjData`.

    `mjSTATE_INTEGRATION`, which includes warm starts, decides where the physics goes. It is not all
    that an environment sees: MuJoCo leaves derived quantities (positions of bodies, forces of
    contacts) one substep behind, and rewards are made of them. So every array of fixed size goes
    with it. Arrays that grow and shrink with the contacts are computed anew.
    """

    def __init__(self) -> None:
        # The model is kept beside its names: an id is unique only while its object lives.
        self._names: dict[int, tuple[Any, list[str]]] = {}

    def read(self, data: Any) -> dict[str, Any]:
        """Returns the integration state, and the arrays of fixed size end to end."""
        import mujoco

        model = data.model
        state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        arrays = b"".join(getattr(data, name).tobytes() for name in self._fixed(model))
        return {"state": state.tobytes(), "arrays": arrays}

    def held(self, data: Any) -> None:
        """Returns None: the physics draws no random numbers."""

    def write(self, data: Any, parts: dict[str, Any]) -> None:
        """Puts the simulation into a state that `read` returned."""
        import mujoco

        model, kind = data.model, mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.frombuffer(parts["state"])
        mujoco.mj_setState(model, data, state, kind)
        mujoco.mj_forward(model, data)
        start = 0
        for name in self._fixed(model):
            array = getattr(data, name)
            saved = np.frombuffer(parts["arrays"], array.dtype, array.size, start)
            array[...] = saved.reshape(array.shape)
            start += array.nbytes
        # Once more: computing the rest has moved the warm start.
        mujoco.mj_setState(model, data, state, kind)

    def _fixed(self, model: Any) -> list[str]:
        """Returns the names of the arrays whose size the model alone decides."""
        if id(model) not in self._names:
            import mujoco

            # Where nothing was computed yet there are no contacts, and their arrays are empty.
            empty = mujoco.MjData(model)
            arrays = {name: getattr(empty, name) for name in dir(empty) if name[0] != "_"}
            names = [
                name
                for name, array in arrays.items()
                if isinstance(array, np.ndarray) and array.size and array.flags.writeable
            ]
            self._names[id(model)] = model, names
        return self._names[id(model)][1]
