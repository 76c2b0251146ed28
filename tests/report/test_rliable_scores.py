"""Outcomes in rliable's form, against what was written into the summaries."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import uflp

METRICS = "queries,eval_return_mean\n10,0.5\n"


def put(root: Path, preset: str, agent: str, access: str, seed: int, score: float | None) -> Path:
    """Writes what a report reads of a run."""
    folder = root / f"{preset}-{agent}-{access}-{seed}".replace("/", "-")
    folder.mkdir(parents=True)
    names = {"preset": preset, "agent": agent, "uncertainty": "counts", "access": access}
    config = {**names, "seed": seed, "stop_at_return": None, "settings": {"queries": 10}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "metrics.csv").write_text(METRICS)
    if score is not None:
        (folder / "summary.json").write_text(json.dumps({"final_return": score, "queries": 10}))
    return folder


def fill(root: Path) -> None:
    for access, seed in itertools.product(("local", "online"), range(3)):
        put(root, "swingup", "ddqn", access, seed, 10.0 + seed + 100 * (access == "online"))
        put(root, "deep-sea", "ddqn", access, seed, float(seed) + 100 * (access == "online"))


def test_rows_are_seeds_and_columns_are_presets_in_order(tmp_path: Path) -> None:
    fill(tmp_path)
    scores = uflp.rliable_scores([tmp_path])
    assert list(scores) == ["ddqn, local", "ddqn, online"]
    np.testing.assert_array_equal(scores["ddqn, local"], [[0, 10], [1, 11], [2, 12]])
    np.testing.assert_array_equal(scores["ddqn, online"], [[100, 110], [101, 111], [102, 112]])
    queries = uflp.rliable_scores([str(tmp_path)], "queries")
    assert queries["ddqn, local"].tolist() == [[10.0, 10.0]] * 3


def test_what_does_not_fill_the_array_is_named(tmp_path: Path) -> None:
    fill(tmp_path / "all")
    extra = put(tmp_path / "all", "swingup", "pi", "local", 0, 1.0)
    with pytest.raises(uflp.UsageError, match="pi, local has no run of seed 0 on deep-sea"):
        uflp.rliable_scores([tmp_path / "all"])
    again = put(tmp_path / "again", "swingup", "pi", "local", 0, 2.0)
    with pytest.raises(uflp.UsageError, match="repeats seed 0 of pi, local on swingup"):
        uflp.rliable_scores([extra, again])
    with pytest.raises(uflp.UsageError, match="has no number 'cells'"):
        uflp.rliable_scores([extra], "cells")
    with pytest.raises(uflp.UsageError, match="is not finished"):
        uflp.rliable_scores([put(tmp_path, "swingup", "pi", "local", 1, None)])
    with pytest.raises(uflp.UsageError, match="there are no runs"):
        (tmp_path / "none").mkdir()
        uflp.rliable_scores([tmp_path / "none"])
