"""`uflp report` on what people point it at: it draws what it can, and names what it cannot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fabricated import MakeRun

from uflp import cli

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def uflp(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["uflp", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def test_all_is_well(uflp: Call, make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1])
    assert uflp("report", tmp_path / "runs") == (0, f"{tmp_path / 'runs' / 'report.html'}\n", "")


def test_damage_is_named_and_the_rest_is_drawn(
    uflp: Call, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("good", [0, 1])
    make_run("other", [0, 0.5], names={"preset": "another"})
    lost = make_run("lost", [0, 1], seed=1)
    (lost / "metrics.csv").unlink()
    cut = make_run("cut", [0, 1, 1], seed=2)
    metrics = cut / "metrics.csv"
    metrics.write_text(metrics.read_text()[:-10])
    code, out, err = uflp("report", tmp_path / "runs", "--out", tmp_path / "page.html")
    assert (code, out) == (0, f"{tmp_path / 'page.html'}\n")
    assert err.splitlines() == [
        f"uflp: left out {metrics}: the last line was cut off; the lines before it are used.",
        f"uflp: left out {lost}: no evaluation was recorded.",
    ]
    text = (tmp_path / "page.html").read_text()
    assert "<h2>another</h2>" in text and "<h2>deep-sea</h2>" in text
    assert str(metrics) in text and str(lost) in text


def test_much_damage_is_not_a_flood(uflp: Call, make_run: MakeRun, tmp_path: Path) -> None:
    make_run("good", [0, 1])
    for seed in range(1, 15):
        (make_run(f"{seed:02}", [0, 1], seed=seed) / "metrics.csv").unlink()
    code, _, err = uflp("report", tmp_path)
    assert code == 0
    assert len(err.splitlines()) == 11 and err.endswith("uflp: left out 4 more, see the page.\n")


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (empty, "there are no run folders"),
        (lambda run: (run / "metrics.csv").write_text("a,b\n1,2\n"), "lacks queries"),
        (lambda run: (run / "metrics.csv").write_text("queries,eval_retu"), "no evaluation"),
        (lambda run: (run / "config.json").write_text("{"), "config.json is not readable JSON"),
    ],
    ids=["no run", "foreign table", "cut header", "cut config"],
)
def test_nothing_to_draw_ends_with_code_two(
    uflp: Call, make_run: MakeRun, tmp_path: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(make_run("a", [0, 1]))
    code, out, err = uflp("report", tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("uflp: ") and words in err and err.count("\n") == 1
    assert not (tmp_path / "report.html").exists()
