"""Lineages by hand, and best screen scores that are replayed."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import uflp
from uflp.cli import app, main
from uflp.planning.lineage import Lineage, Segment
from uflp.types import UsageError


def test_actions_from_the_start_by_hand() -> None:
    lineage = Lineage()
    lineage.begin(None)
    lineage.added(0, oldest=0)
    lineage.stepped(b"ab", 0.0)
    lineage.added(1, oldest=0)
    lineage.stepped(b"c", 5.0)
    assert (lineage.best_score, lineage.best_actions()) == (5.0, b"abc")
    lineage.stepped(b"x", 1.0)
    # Another way on from entry 1, to a better score.
    lineage.begin(1)
    lineage.added(2, oldest=0)
    lineage.stepped(b"d", 0.0)
    lineage.added(3, oldest=0)
    lineage.stepped(b"ef", 6.0)
    lineage.stepped(b"g", 6.0)  # not better
    assert (lineage.best_score, lineage.best_actions()) == (6.0, b"abdef")
    lineage.begin(None)
    lineage.stepped(b"z", 7.0)
    assert lineage.best_actions() == b"z"


def test_a_state_of_another_history_brings_its_way_along() -> None:
    lineage = Lineage()
    lineage.adopt(Segment(Segment(None, b"ab"), b"c"))
    lineage.stepped(b"d", 2.0)
    assert (lineage.best_score, lineage.best_actions()) == (2.0, b"abcd")
    lineage.added(0, oldest=0)
    lineage.begin(0)
    lineage.stepped(b"e", 3.0)
    assert lineage.best_actions() == b"abcde"


def test_a_lineage_outlives_eviction_and_is_freed_when_nothing_needs_it() -> None:
    lineage = Lineage()
    lineage.begin(None)
    for entry in range(100):
        lineage.stepped(bytes([entry]), 1.0 if entry == 49 else 0.0)
        lineage.added(entry, oldest=max(0, entry - 2))
    assert len(lineage) == 3
    assert lineage.best_actions() == bytes(range(50))
    # A new episode: the 50 of the best remain, and the entries that are still in the history.
    lineage.begin(None)
    for entry in range(100, 200):
        lineage.stepped(b"n", 0.0)
        lineage.added(entry, oldest=entry - 2)
        lineage.begin(None)
    gc.collect()
    alive = sum(isinstance(thing, Segment) for thing in gc.get_objects())
    assert alive < 60
    assert lineage.best_actions() == bytes(range(50))


def test_without_a_score_there_is_nothing_to_replay() -> None:
    lineage = Lineage()
    lineage.begin(None)
    lineage.stepped(b"a", -10.0)
    assert (lineage.best_score, lineage.best_actions()) == (0.0, b"")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with many restarts and a history so small that what led to its best is evicted."""
    pytest.importorskip("ale_py")
    folder = tmp_path_factory.mktemp("runs") / "invaders"
    settings: dict[str, Any] = {
        **{"queries": 240, "eval_period": 240, "max_frames": 2000},
        **{
            "checkpoint_period": 4,
            "history_size": 6,
            "rollout_limit": 20,
            "p_init": 0.0,
            "batch": 8,
        },
    }
    result = uflp.train("atari/space-invaders", agent="random", seed=1, out=folder, **settings)
    assert result.metrics["restarts"][-1] > 5
    assert result.summary["max_screen_score"] > 0
    return folder


def test_a_best_score_is_verified_and_filmed(run: Path) -> None:
    from PIL import Image

    ended = CliRunner().invoke(app, ["replay", str(run), "--every", "16", "--json"])
    assert ended.exit_code == 0, ended.output
    outcome = json.loads(ended.output.splitlines()[-1])
    summary = json.loads((run / "summary.json").read_text())
    assert outcome["verified"] and not outcome["treasure_room_bug"]
    assert outcome["replayed_score"] == summary["max_screen_score"]
    # Longer than a rollout: it was reached across restarts.
    assert outcome["frames"] > 4 * 20
    with Image.open(run / "best.gif") as film:
        assert film.n_frames >= outcome["frames"] // 16 // 2
        assert film.size == (320, 210)


def test_a_score_that_its_actions_do_not_give_is_not_verified(run: Path) -> None:
    with np.load(run / "best-actions.npz") as best:
        actions, score = best["actions"], best["screen_score"]
    try:
        np.savez_compressed(run / "best-actions.npz", actions=actions, screen_score=score + 25)
        ended = CliRunner().invoke(app, ["replay", str(run)])
        assert ended.exit_code == 1
        assert "not verified" in ended.output
    finally:
        np.savez_compressed(run / "best-actions.npz", actions=actions, screen_score=score)


def test_bad_folders_are_answered_with_a_sentence(tmp_path: Path, run: Path) -> None:
    from uflp.experiments.trained import best_score

    with pytest.raises(UsageError, match="not a run folder"):
        best_score(tmp_path)
    config = (run / "config.json").read_text()
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(UsageError, match="has no best-actions"):
        best_score(tmp_path)
    (tmp_path / "best-actions.npz").write_bytes(b"no archive")
    with pytest.raises(UsageError, match="is damaged"):
        best_score(tmp_path)
    (tmp_path / "best-actions.npz").write_bytes((run / "best-actions.npz").read_bytes())
    (tmp_path / "config.json").write_text(config.replace("ale-py=", "ale-py=0."))
    with pytest.raises(UsageError, match="was made with"):
        best_score(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"), [("settings", "abc"), ("settings", None), ("seed", "one"), ("agent", 3)]
)
def test_a_damaged_record_is_answered_with_a_sentence(
    key: str, value: Any, tmp_path: Path, run: Path
) -> None:
    from uflp.experiments.trained import best_score

    config = json.loads((run / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, key: value}))
    with pytest.raises(UsageError, match="is not the configuration of a run"):
        best_score(tmp_path)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("missing/x.gif", "there is no folder"),
        ("x.txt", "a video ends in"),
        ("", "a video ends in"),
        ("folder.gif", "is a folder"),
    ],
)
def test_a_film_that_cannot_be_written_is_refused_before_anything_is_played(
    *, out: str, said: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "folder.gif").mkdir()
    monkeypatch.setattr("uflp.experiments.trained.BestScore.play", lambda self: pytest.fail())
    assert _command(monkeypatch, "replay", run, "--out", tmp_path / out) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert [path.name for path in tmp_path.iterdir()] == ["folder.gif"]


def test_a_verdict_stands_though_its_film_cannot_be_written(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from PIL import Image

    def full(*given: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    film = tmp_path / "x.gif"
    film.write_bytes(b"the last one")
    monkeypatch.setattr(Image.Image, "save", full)
    assert _command(monkeypatch, "replay", run, "--out", film) == 2
    told = capsys.readouterr()
    assert told.out.startswith("verified") and "film" not in told.out
    assert "x.gif cannot be written: No space left on device" in told.err
    assert film.read_bytes() == b"the last one"
    assert list(tmp_path.iterdir()) == [film]


@pytest.mark.parametrize("suffix", [".gif", ".webp", ".png", ".GIF"])
def test_films_are_of_the_kind_that_their_name_says(suffix: str, tmp_path: Path) -> None:
    from PIL import Image

    from uflp.report.video import write_film

    path = tmp_path / f"film{suffix}"
    screens = [np.full((4, 5, 3), shade, np.uint8) for shade in (0, 90, 200)]
    assert write_film(path, screens, 0.1) == 3
    with Image.open(path) as film:
        assert film.format is not None and film.format.lower() == suffix[1:].lower()
        assert (film.size, getattr(film, "n_frames", 1)) == ((10, 4), 3)


def _command(monkeypatch: pytest.MonkeyPatch, *words: Any) -> Any:
    """Calls the command line; returns its exit code."""
    monkeypatch.setattr(sys, "argv", ["uflp", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_a_lineage_goes_on_from_its_state() -> None:
    lineage, again = Lineage(), Lineage()
    rng = np.random.default_rng(0)
    for entry in range(40):
        lineage.begin(None if entry < 5 else int(rng.integers(max(0, entry - 8), entry)))
        for _ in range(3):
            lineage.stepped(bytes(rng.integers(0, 18, 4).tolist()), float(rng.integers(100)))
        lineage.added(entry, max(0, entry - 9))
    lineage.stepped(b"\x01\x02", 3.0)
    again.load(lineage.state())
    for each in (lineage, again):
        each.begin(35)
        each.stepped(b"\x07", 1000.0)
        each.added(40, 31)
    assert again.best_actions() == lineage.best_actions()
    assert again.best_score == 1000.0
    assert len(again) == len(lineage) == 10
    assert again.state()["actions"] == lineage.state()["actions"]


def test_actors_go_on_from_each_others_entries_by_hand() -> None:
    lineage = Lineage()
    lineage.begin(None, actor=0)
    lineage.begin(None, actor=1)
    lineage.stepped(b"ab", 0.0, actor=0)
    lineage.stepped(b"xy", 0.0, actor=1)
    lineage.added(0, oldest=0, actor=0)
    lineage.begin(0, actor=1)  # leaves its own actions behind
    lineage.stepped(b"c", 0.0, actor=0)
    lineage.stepped(b"d", 3.0, actor=1)
    assert lineage.best_actions() == b"abd"
    saved = Lineage()
    saved.load(lineage.state())
    for one in (lineage, saved):
        one.stepped(b"e", 4.0, actor=0)
        assert one.best_actions() == b"abce"
        assert one.knows(1) and not one.knows(2)


def test_a_lineage_of_nothing_yet_can_be_saved() -> None:
    lineage = Lineage()
    assert lineage.best_actions() == b""
    other = Lineage()
    other.load(lineage.state())
    assert (other.best_score, other.best_actions(), len(other)) == (0.0, b"", 0)
