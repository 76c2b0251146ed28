"""The Markdown page says what the runs say; any page is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabricated import MakeRun

from uflp.report import write_report
from uflp.report.formatting import number, over_seeds
from uflp.types import UsageError


def row(text: str, *words: str) -> dict[str, str]:
    """Returns the one row of the table that has all the words, by column."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    (found,) = [line for line in lines[2:] if set(words) <= set(line)]
    return dict(zip(lines[0], found, strict=True))


def markdown(directories: list[Path]) -> Path:
    return write_report(directories, directories[0] / "report.md").path


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_table_by_hand(make_run: MakeRun, tmp_path: Path) -> None:
    # Two seeds stop at their goal, one of them half way, the third spends its budget in vain.
    make_run("local/seed-0", [0, 1], seed=0, budget=400)
    make_run("local/seed-1", [0, 0, 1], seed=1, budget=400)
    make_run("local/seed-2", [0, 0, 0, 0.25], seed=2, budget=400)
    make_run("online/seed-0", [0, 0, 0, 0], access="online")
    out = markdown([tmp_path / "runs"])
    assert out == tmp_path / "runs" / "report.md"
    text = out.read_text()
    local = row(text, "local")
    assert (local["preset"], local["agent"], local["uncertainty"]) == ("deep-sea", "ddqn", "counts")
    assert local["seeds"] == "3"
    assert local["queries"] == "200 to 400"
    assert local["final return"] == "0.750 (1.000, 1.000, 0.250)"
    assert local["best"] == "1.000"
    assert local["queries to target"] == "300 (2 of 3)"
    # Areas 250/400, 150/400 and 12.5/400.
    assert local["normalised AUC"] == "0.344 (0.625, 0.375, 0.031)"
    # One, two and three at the end; the first is seen by query 200 on every seed.
    assert local["rewarded queries"] == "2"
    assert local["first reward"] == "200 (3 of 3)"
    assert local["queries/s"] == "500"
    online = row(text, "online")
    assert online["final return"] == "0.000"
    assert online["queries to target"] == "– (0 of 1)"
    assert "settings" not in local
    assert "Left out" not in text
    verdict = "Local access reached 0.95 after 300 queries (median of 3 seeds); online never did."
    numbers = (
        "DDQN: Normalised AUC, local minus online: 0.344. Probability that local is better: 1.000."
    )
    assert f"## deep-sea\n\n{verdict}\n\n{numbers}\n\nDDQN: Found, by the median: " in text
    assert "](report-deep-sea.png)" in text and "](report-deep-sea.svg)" in text
    assert {path.name for path in out.parent.iterdir() if path.is_file()} == {
        "report.md",
        "report-deep-sea.png",
        "report-deep-sea.svg",
    }


def test_a_run_cut_short_says_nothing_final(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("seed-0", [0, 1], seed=0, budget=200)
    make_run("seed-1", [0], seed=1, budget=200, stopped=None)
    make_run("online", [0.5], budget=400, stopped=None, access="online", target_return=None)
    text = markdown([tmp_path]).read_text()
    local = row(text, "local")
    assert local["seeds"] == "2 (1 cut short)"
    assert local["final return"] == "1.000"
    assert local["normalised AUC"] == "0.250"
    assert local["queries to target"] == "– (1 of 2)"
    online = row(text, "online")
    assert online["final return"] == "0.500 so far"
    assert online["normalised AUC"] == "–"
    assert online["queries to target"] == "no target"
    assert online["queries/s"] == "500"


def test_one_picture_a_preset_beside_the_page(make_run: MakeRun, tmp_path: Path) -> None:
    for name in ("deep-sea", "atari/pitfall", "../../escape", "Escape"):
        make_run(name.replace("/", "_"), [0, 1], names={"preset": name})
    out = write_report([tmp_path / "runs"], tmp_path / "new folder" / "all runs.md").path
    pictures = {path.name for path in out.parent.iterdir()} - {"all runs.md"}
    presets = ("deep-sea", "atari-pitfall", "escape", "escape-2")
    assert pictures == {f"all runs-{name}.{kind}" for name in presets for kind in ("png", "svg")}
    assert "](all%20runs-atari-pitfall.png)" in out.read_text()


def test_variants_stand_in_rows_of_their_own(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1], p_init=0.5)
    make_run("b", [0, 0], p_init=0.1)
    text = markdown([tmp_path]).read_text()
    assert row(text, r"p\_init=0.5")["final return"] == "1.000"
    assert row(text, r"p\_init=0.1")["final return"] == "0.000"


def test_what_was_left_out_is_listed(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1])
    again = make_run("b", [0, 1])
    bad = make_run("c", [0, 1], seed=1)
    (bad / "config.json").write_text("{")
    text = markdown([tmp_path]).read_text()
    left_out = text.partition("## Left out")[2]
    assert f"`{bad}`: config.json is not readable JSON" in left_out
    assert f"`{again}`: repeats seed 0" in left_out


def test_a_name_cannot_break_the_table(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1], names={"agent": "a|b <script>"})
    text = markdown([tmp_path]).read_text()
    assert r"| a\|b \<script\> |" in text


def test_a_report_may_be_written_again(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1])
    before = markdown([tmp_path]).read_bytes()
    assert markdown([tmp_path]).read_bytes() == before


def damage_all(runs: Path) -> None:
    for path in runs.rglob("metrics.csv"):
        path.write_text("")


def test_nothing_to_draw_is_one_sentence_and_no_file(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1])
    damage_all(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a file").write_text("x")
    before = everything(tmp_path)
    runs = tmp_path / "runs"
    for directories, words in [
        ([runs], "no evaluation was recorded"),
        ([tmp_path / "empty"], "no run folders"),
        ([tmp_path / "missing"], "does not exist"),
        ([runs, tmp_path / "missing"], "does not exist"),
        ([tmp_path / "a file"], "not a folder"),
        ([], "at least one folder"),
    ]:
        with pytest.raises(UsageError, match=words) as caught:
            write_report(directories, None)
        assert "\n" not in str(caught.value) and not str(caught.value).endswith(".")
    assert everything(tmp_path) == before


def test_an_unwritable_page_leaves_nothing_behind(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run("a", [0, 1])
    (tmp_path / "file").write_text("x")
    (tmp_path / "busy" / "report-deep-sea.svg").mkdir(parents=True)
    before = everything(tmp_path)
    folders = {path for path in tmp_path.rglob("*") if path.is_dir()}
    for out in (
        tmp_path,
        tmp_path / "file" / "report.md",
        tmp_path / "new" / ("x" * 300) / "report.md",
        tmp_path / "busy" / "report.md",
        # Not reports, so not to be written over.
        tmp_path / "file",
        run / "metrics.csv",
        Path("/dev/null"),
        # A page is HTML or Markdown, whatever the file is called.
        tmp_path / "report.pdf",
    ):
        with pytest.raises(UsageError, match=r"folder|written|not an earlier report|ends in .html"):
            write_report([tmp_path / "runs"], out)
    assert everything(tmp_path) == before
    assert {path for path in tmp_path.rglob("*") if path.is_dir()} == folders


def test_numbers() -> None:
    nan = float("nan")
    shown = {0.99: "0.990", -0.0001: "0.000", 123.456: "123.5", 12_345.6: "12,346"}
    assert {value: number(value) for value in shown} == shown
    assert number(nan) == "–"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "–"),
        ([0.5], "0.500"),
        ([0.91, 0.93, 0.95, 0.97], "0.940 (0.910, 0.930, 0.950, 0.970)"),
        ([1.0, 2, 3, 4, 5], "3.000 [1.037, 4.963] t, [1.800, 4.200] bootstrap"),
        ([1.0] * 10, "1.000 [1.000, 1.000]"),
    ],
)
def test_a_mean_is_shown_with_what_its_seeds_support(values: list[float], words: str) -> None:
    assert over_seeds(values) == words
