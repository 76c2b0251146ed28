"""Names and numbers that nobody means: a report draws the rest, and says what it left out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fabricated import MakeRun

from uflp import cli

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["uflp", "report", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return int(stop.value.code or 0), capsys.readouterr().err

    return call


@pytest.mark.parametrize("page", ["page.html", "page.md"])
def test_a_dollar_sign_in_a_name_begins_no_formula(
    page: str, report: Call, make_run: MakeRun, tmp_path: Path
) -> None:
    wild = r"$\frac{$"
    for seed in range(2):
        names = {"preset": wild, "agent": wild, "variant": wild, "uncertainty_name": wild}
        make_run(f"{wild}-{seed}", [0, 1], seed=seed, names=names)
    assert report(tmp_path / "runs", "--out", tmp_path / page) == (0, "")
    assert "frac{" in (tmp_path / page).read_text()


@pytest.mark.parametrize("page", ["page.html", "page.md"])
@pytest.mark.parametrize("value", [1e308, -1e308, 1e200])
def test_one_run_with_absurd_returns_does_not_spoil_the_others(
    value: float, page: str, report: Call, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("good", [0, 1])
    bad = make_run("bad", [-value, value], seed=1)
    code, said = report(tmp_path / "runs", "--out", tmp_path / page)
    assert code == 0
    reason = "metrics.csv has an eval_return_mean beyond ±1e+100"
    assert said == f"uflp: left out {bad}: {reason}.\n"
    code, said = report(bad, "--out", tmp_path / f"other-{page}")
    assert code == 2 and len(said.splitlines()) == 1 and reason in said
    assert not (tmp_path / f"other-{page}").exists()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("column", ["cells", "max_screen_score", "wall_seconds", "loss"])
def test_other_columns_may_hold_any_number(
    column: str, report: Call, make_run: MakeRun, tmp_path: Path
) -> None:
    for seed in range(3):
        make_run(str(seed), [0, 1], seed=seed, columns={column: [-1e308, 1e308]})
        make_run(f"o{seed}", [0, 1], seed=seed, access="online", columns={column: [1e308, 1e308]})
    code, said = report(tmp_path / "runs", "--out", tmp_path / "page.html")
    assert code == 0 and "Traceback" not in said


@pytest.mark.parametrize("value", [1e308, 1e16])
def test_absurd_query_numbers_are_damage(
    value: float, report: Call, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("good", [0, 1])
    bad = make_run("bad", [0, 1], seed=1)
    metrics = bad / "metrics.csv"
    metrics.write_text(metrics.read_text().replace("\n200,", f"\n{value},"))
    code, said = report(tmp_path / "runs", "--out", tmp_path / "page.html")
    assert (code, said) == (
        0,
        f"uflp: left out {bad}: metrics.csv has queries that do not increase, or too many.\n",
    )


@pytest.mark.parametrize("target", [1e308, -1e308, 1e299])
def test_an_absurd_target_is_none(
    target: float, report: Call, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("good", [0, 1], target_return=target)
    assert report(tmp_path / "runs", "--out", tmp_path / "page.md") == (0, "")
    assert report(tmp_path / "runs", "--out", tmp_path / "page.html") == (0, "")


@pytest.mark.parametrize("seed", [0.0, True, "0", None])
def test_a_seed_of_another_kind_is_damage(
    seed: Any, report: Call, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("good", [0, 1])
    bad = make_run("bad", [0, 1], seed=1)
    config = json.loads((bad / "config.json").read_text())
    (bad / "config.json").write_text(json.dumps(config | {"seed": seed}))
    code, said = report(tmp_path / "runs", "--out", tmp_path / "page.html")
    assert (code, said) == (
        0,
        f"uflp: left out {bad}: config.json is not the configuration of a run.\n",
    )
