"""The history that suits what is saved, and what it is chosen by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uflp.memory import History
from uflp.simulators import Simulator
from uflp.types import Snapshot
from uflp.uncertainty import Uncertainty


def history_of(
    simulator: Simulator,
    uncertainty: Uncertainty | None,
    *,
    entries: int,
    nbytes: int | None = None,
    key_of: Callable[[Any], Any] | None = None,
) -> History:
    """Makes an empty history.

    Args:
        simulator: whose snapshots it holds.
        uncertainty: what scores them; without one, all have the same key.
        entries: snapshots that it holds.
        nbytes: budget in bytes of snapshot data; None sets none.
        key_of: gives the key of an observation; None lets the uncertainty do it.
    """

    def read_key(snapshot: Snapshot) -> Any:
        assert uncertainty is not None, "who reads keys has asked for them"
        return (key_of or uncertainty.key_of)(simulator.observation_of(snapshot))

    return History(
        simulator.stamp,
        key_shape=() if uncertainty is None else uncertainty.key_shape,
        key_dtype=np.int64 if uncertainty is None else uncertainty.key_dtype,
        read_key=read_key,
        masked=simulator.mask_size,
        width=simulator.snapshot_width,
        entries=entries,
        nbytes=nbytes,
        portable=simulator.portable,
    )
