"""NumPy generator with a small state, for simulators that keep one in their snapshots."""

from __future__ import annotations

import struct

import numpy as np

# state, inc, has_uint32, uinteger, has_gauss, gauss. The legacy `randn` makes normals in pairs and
# keeps the second one, so the bit generator's state alone is not the state.
_STATE = struct.Struct("<16s16s?I?d")
RNG_WIDTH = _STATE.size
"""Bytes that `pack_rng` returns."""


def small_rng(seed: int | None) -> np.random.RandomState:
    """Return a `RandomState`, as bsuite uses, whose state takes 46 bytes instead of 2.5 KB."""
    return np.random.RandomState(np.random.PCG64(seed))


def pack_rng(rng: np.random.RandomState) -> bytes:
    """Return the state of a `small_rng` as `RNG_WIDTH` bytes."""
    state = rng.get_state(legacy=False)
    words = state["state"]
    return _STATE.pack(
        words["state"].to_bytes(16, "little"),
        words["inc"].to_bytes(16, "little"),
        state["has_uint32"],
        state["uinteger"],
        state["has_gauss"],
        state["gauss"],
    )


def unpack_rng(rng: np.random.RandomState, data: bytes) -> None:
    """Put a `small_rng` into the state that `pack_rng` wrote."""
    state, inc, has_uint32, uinteger, has_gauss, gauss = _STATE.unpack(data)
    words = {"state": int.from_bytes(state, "little"), "inc": int.from_bytes(inc, "little")}
    rng.set_state(
        {
            "bit_generator": "PCG64",
            "state": words,
            "has_uint32": int(has_uint32),
            "uinteger": uinteger,
            "has_gauss": int(has_gauss),
            "gauss": gauss,
        }
    )
