"""The record of exploration counts every query and restart, and stays small."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uflp.experiments.resolve import resolve
from uflp.simulators import SIMULATORS
from uflp.simulators.projection import Projection, bins
from uflp.training.exploration_log import SLICES, Exploration, read_explored
from uflp.training.run import Run

LINE = Projection(("nothing", "place"), ((0, 1), (0, 4)), (1, 4), lambda places: places)


def test_bins_by_hand() -> None:
    values = np.array([-9.0, 0.0, 0.99, 1.0, 3.99, 4.0, 9.0])
    assert bins(values, 0, 4, 4).tolist() == [0, 0, 0, 1, 3, 3, 3]
    # From a larger edge down to a smaller one, as rows of a picture go.
    assert bins(np.array([2.0, 1.5, -1.5, -2.0]), 2, -2, 4).tolist() == [0, 0, 3, 3]


def test_deep_sea_is_drawn_as_it_lies() -> None:
    projection = SIMULATORS["deep-sea"](size=5).make(0).projection
    assert projection.shape == (5, 5)
    assert projection.cells(np.array([0, 7, 24])).tolist() == [0, 7, 24]
    large = SIMULATORS["deep-sea"](size=200).make(0).projection
    assert large.shape == (100, 100)
    # Row 199, column 3: the last row of bins, and the second column.
    assert large.cells(np.array([199 * 200 + 3])).tolist() == [99 * 100 + 1]


def test_swingup_is_drawn_by_angle_and_speed() -> None:
    simulator = SIMULATORS["swingup"]().make(0)
    observation, _ = simulator.reset(seed=0)
    projection = simulator.projection
    rows, columns = projection.shape
    row, column = divmod(int(projection.cells(observation[None])[0]), columns)
    # Hanging at rest: no speed, in the middle; the angle π, at either edge.
    assert row in (rows // 2 - 1, rows // 2)
    assert column in (0, columns - 1)
    up = np.array([[0, 0, 0.0, 1.0, 100.0, 0, 0, 0]])
    row, column = divmod(int(projection.cells(up)[0]), columns)
    assert (row, column) == (0, columns // 2)


def test_slices_are_counted_by_hand() -> None:
    exploration = Exploration(LINE)
    for place in (0, 0, 3):
        exploration.visit(place)
    exploration.restart(3)
    exploration.evaluated(3)
    exploration.visit(1)
    exploration.evaluated(4)
    queries, visits, restarts, axes, edges, unit = exploration.explored()
    assert queries.tolist() == [3, 4]
    assert visits.tolist() == [[[2, 0, 0, 1]], [[0, 1, 0, 0]]]
    assert restarts.tolist() == [[[0, 0, 0, 1]], [[0, 0, 0, 0]]]
    assert axes.tolist() == ["nothing", "place"]
    assert edges.tolist() == [[0, 1], [0, 4]]
    assert str(unit) == "cell"


@pytest.mark.parametrize("periods", [1, SLICES - 1, SLICES, SLICES + 1, 5 * SLICES + 3])
def test_nothing_is_lost_when_slices_are_joined(periods: int) -> None:
    exploration = Exploration(LINE)
    for period in range(periods):
        for _ in range(10):
            exploration.visit(period % 4)
        exploration.evaluated(10 * (period + 1))
    queries, visits, *_ = exploration.explored()
    assert len(queries) <= SLICES and len(queries) == min(periods, len(queries))
    assert queries[-1] == 10 * periods and np.all(np.diff(queries) > 0)
    # Each slice holds exactly the queries between its ends.
    assert visits.sum(axis=(1, 2)).tolist() == np.diff(queries, prepend=0).tolist()
    whole = [10 * len(range(place, periods, 4)) for place in range(4)]
    assert visits.sum(axis=(0, 1)).tolist() == whole


def test_a_long_time_between_evaluations_takes_no_memory() -> None:
    exploration = Exploration(LINE)
    for _ in range(10_000):
        exploration.visit(2)
    assert len(exploration._visited) < 5000
    exploration.evaluated(10_000)
    assert exploration.explored().visits.tolist() == [[[0, 0, 10_000, 0]]]


def test_a_run_records_its_queries_and_restarts(compiled_once: None) -> None:
    settings = resolve(
        "deep-sea", uncertainty="counts", overrides={"size": 4, "queries": 60, "eval_period": 20}
    )
    run = Run(settings)
    rows = list(run.train())
    assert run.exploration_log.exploration is not None and run.exploration_log.restarted is None
    explored = run.exploration_log.exploration.explored()
    assert explored.queries.tolist() == [20, 40, 60]
    assert explored.visits.sum(axis=(1, 2)).tolist() == [20, 20, 20]
    assert np.cumsum(explored.restarts.sum(axis=(1, 2))).tolist() == [
        row["restarts"] for row in rows
    ]
    assert rows[-1]["restarts"] > 0
    # No state lies above the diagonal.
    assert np.triu(explored.visits.sum(axis=0), 1).sum() == 0


def test_a_record_is_read_back(tmp_path: Path) -> None:
    exploration = Exploration(LINE)
    exploration.visit(1)
    exploration.evaluated(1)
    exploration.write(tmp_path / "exploration.npz")
    for read, written in zip(
        read_explored(tmp_path / "exploration.npz"), exploration.explored(), strict=True
    ):
        np.testing.assert_array_equal(read, written)
    assert str(read_explored(tmp_path / "exploration.npz").unit) == "cell"
    assert [path.name for path in tmp_path.iterdir()] == ["exploration.npz"]


def test_a_record_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    exploration = Exploration(LINE)
    exploration.visit(1)
    exploration.evaluated(1)
    parts = exploration.explored()._asdict()
    del parts["unit"]
    (tmp_path / "exploration.npz").write_bytes(archive(**parts))
    assert str(read_explored(tmp_path / "exploration.npz").unit) == "cell"


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_damaged_and_foreign_records_are_refused(tmp_path: Path) -> None:
    good = Exploration(LINE)
    good.visit(1)
    good.evaluated(1)
    path = tmp_path / "exploration.npz"
    good.write(path)
    whole = path.read_bytes()
    parts = good.explored()._asdict()
    for data in (
        b"",
        b"not a zip",
        whole[: len(whole) // 2],
        archive(queries=parts["queries"]),
        archive(**{**parts, "visits": parts["visits"][:, :, :2]}),
        archive(**{**parts, "visits": np.zeros((0, 0, 0), np.uint32)}),
        archive(**{**parts, "queries": np.array(1)}),
        archive(**{**parts, "axes": np.array([print, print])}),  # Would have to be unpickled.
    ):
        path.write_bytes(data)
        with pytest.raises(ValueError):
            read_explored(path)
    assert zipfile.is_zipfile(io.BytesIO(whole))
