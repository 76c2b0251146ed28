"""Takes a sample of replay apart on the device."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from uflp.types import Batch


def unpack(sample: Any, row: np.dtype) -> Batch:
    """Returns the columns of a sample; to be compiled along with what they are for.

    Args:
        sample: uint32 [B, words of a row], as `Replay.sample` draws it.
        row: the layout of a row, each column beginning at a word.
    """
    assert row.names is not None and row.fields is not None, "a row has columns"
    word = sample.dtype.itemsize
    columns = []
    for name in row.names:
        kind, start, *_ = row.fields[name]
        words = sample[:, start // word : -(-(start + kind.itemsize) // word)]
        values = jax.lax.bitcast_convert_type(words, kind.base).reshape(len(sample), -1)
        count = kind.itemsize // kind.base.itemsize
        columns.append(values[:, :count].reshape(len(sample), *kind.shape))
    return Batch(*columns)
