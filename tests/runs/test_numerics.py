"""What numbers depend on besides settings is recorded, and a resumed run compares it."""

from __future__ import annotations

import importlib.metadata
import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import pytest

import uflp
from uflp.runs.provenance import changes, numerics

QUICK: dict[str, Any] = {"size": 3, "agent": "random", "queries": 20, "eval_period": 10}


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """Returns the folder of a run that was ended before its first checkpoint."""
    uflp.train("deep-sea", out=tmp_path / "run", **QUICK)
    for name in ("summary.json", "metrics.csv", "agent.state"):
        (tmp_path / "run" / name).unlink()
    return tmp_path / "run"


def change(folder: Path, numerics: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"numerics": numerics}))


def test_flags_and_versions_are_in_the_record(cut: Path) -> None:
    found = json.loads((cut / "config.json").read_text())["numerics"]
    assert found["jax_enable_x64"] is False and found["jax_disable_jit"] is False
    assert found["jax_default_prng_impl"] == "threefry2x32"
    for name in ("jax", "jaxlib", "numpy", "gymnasium"):
        assert found[name] == importlib.metadata.version(name)
    assert found["uflp"]  # The simulator's own package.


@pytest.mark.parametrize(
    ("flag", "value", "recorded"),
    [
        ("jax_enable_x64", True, True),
        ("jax_disable_jit", True, True),
        ("jax_default_prng_impl", "rbg", "rbg"),
    ],
)
def test_a_flag_that_is_set_is_seen(flag: str, value: Any, recorded: Any) -> None:
    before = getattr(jax.config, flag)
    jax.config.update(flag, value)
    try:
        assert numerics(SimpleNamespace())[flag] == recorded
    finally:
        jax.config.update(flag, before)


@pytest.mark.parametrize(
    ("name", "value"),
    [("jax", "0.0.1"), ("numpy", "0.0.1"), ("jax_enable_x64", True), ("uflp", "0.0.1")],
)
def test_a_difference_is_a_warning_and_the_run_goes_on(cut: Path, name: str, value: Any) -> None:
    found = json.loads((cut / "config.json").read_text())["numerics"]
    change(cut, found | {name: value})
    with pytest.warns(UserWarning, match=f"{name} was {value!r} and is .*may differ"):
        assert uflp.resume(cut).summary["queries"] == 20


@pytest.mark.parametrize("before", [None, {}, [], "damaged", {"unknown": 1}])
def test_what_an_older_record_does_not_say_is_no_difference(cut: Path, before: Any) -> None:
    change(cut, before)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        uflp.resume(cut)


def test_differences_are_named_one_by_one() -> None:
    before = {"jax": "1", "numpy": "2", "gone": "3"}
    assert changes(before, {"jax": "1", "numpy": "3", "new": "4"}) == ["numpy was '2' and is '3'"]
    assert changes(before, before) == []
