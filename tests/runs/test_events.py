"""TensorBoard reads what a run writes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from uflp.runs import events
from uflp.runs.events import EventFile


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {
        tag: [(event.step, event.value) for event in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


def test_rows_are_read_back(tmp_path: Path) -> None:
    file = EventFile(tmp_path)
    for queries in (1, 200, 2**40):
        file.append(
            {
                "queries": queries,
                "eval_return_mean": -1.5,
                "restarts": np.int64(queries),
                "loss": math.nan if queries == 1 else 0.25,
                "huge": 1e300,
                "note": "a word",
            }
        )
    scalars = read(tmp_path)
    assert scalars["eval_return_mean"] == [(1, -1.5), (200, -1.5), (2**40, -1.5)]
    assert scalars["restarts"] == [(1, 1), (200, 200), (2**40, 2**40)]
    assert scalars["loss"] == [(200, 0.25), (2**40, 0.25)]
    assert scalars["huge"][0][1] == pytest.approx(3.4e38, rel=0.01)
    assert set(scalars) == {"eval_return_mean", "restarts", "loss", "huge"}


def test_a_later_file_goes_on_where_an_earlier_one_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EventFile(tmp_path).append({"queries": 1, "loss": 1.0})
    later = events.time.time_ns() + 5_000_000_000
    monkeypatch.setattr(events.time, "time_ns", lambda: later)
    EventFile(tmp_path).append({"queries": 2, "loss": 0.5})
    assert len(list(tmp_path.iterdir())) == 2
    assert read(tmp_path)["loss"] == [(1, 1.0), (2, 0.5)]
