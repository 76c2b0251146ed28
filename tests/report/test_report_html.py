"""The HTML page: what it says, that it needs nothing else, and how a browser lays it out."""

from __future__ import annotations

import base64
import io
import itertools
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from fabricated import MakeRun
from PIL import Image

from uflp.report import write_report
from uflp.report.exploration_section import animation, stills
from uflp.simulators import SIMULATORS
from uflp.simulators.atari import PLACES
from uflp.training.exploration_log import Exploration, Explored, RestartGallery


class Page(HTMLParser):
    """What a page is made of, checked for elements that are closed in the order they opened.

    `texts` holds the text of each element by its tag, `facts` that of `<dd>` by its `<dt>`.
    """

    VOID = frozenset({"meta", "img", "br", "source"})

    def __init__(self, text: str):
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.alts: list[str | None] = []
        self.headings: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[tuple[str, list[str]]] = []
        self.feed(text)
        assert self._open == []
        self.facts = dict(zip(self.texts.get("dt", []), self.texts.get("dd", []), strict=True))
        self.text = " ".join(" ".join(self.texts["body"]).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.links += [value or "" for key, value in attrs if key in ("src", "href", "srcset")]
        self.ids += [value or "" for key, value in attrs if key == "id"]
        if tag == "img":
            self.alts.append(held.get("alt"))
        if tag == "svg" and held.get("aria-hidden") != "true":
            self.alts.append(held.get("aria-label"))
        if re.fullmatch(r"h\d", tag):
            self.headings.append(tag)
        if tag not in self.VOID:
            self._open.append((tag, []))

    def handle_data(self, data: str) -> None:
        for _, words in self._open:
            words.append(data)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for key, value in attrs if key in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        opened, words = self._open.pop()
        assert opened == tag
        self.texts.setdefault(tag, []).append("".join(words))


def explore(path: Path, *, restarts: bool = True) -> None:
    """Writes a record of Deep Sea 10: along the left edge, with restarts at its foot."""
    exploration = Exploration(SIMULATORS["deep-sea"](size=10).make(0).projection)
    for period in range(1, 5):
        for row in range(10):
            exploration.visit(10 * row)
        if restarts:
            exploration.restart(90)
        exploration.evaluated(10 * period)
    exploration.write(path / Exploration.file)


@pytest.fixture
def runs(make_run: MakeRun, tmp_path: Path) -> Path:
    for seed in range(4):
        explore(make_run(f"local-{seed}", [0, 0.5, 1], seed=seed))
        make_run(f"online-{seed}", [0, 0, 0], seed=seed, access="online", epsilon=0.1)
    explore(tmp_path / "runs" / "online-0", restarts=False)
    return tmp_path / "runs"


def test_the_page_says_what_the_runs_say(runs: Path) -> None:
    written = write_report([runs])
    assert written.path == runs / "report.html" and written.skipped == ()
    page = Page(written.path.read_text())
    assert page.texts["h1"] == [
        "Local access reached 0.95 after 300 queries (median of 4 seeds); online never did."
    ]
    assert "Evaluation return, each of 4 seeds" in page.texts["figcaption"]
    assert page.facts["P(local better)"] == "100 %"
    assert page.facts["permutation test"] == "p = 0.029"
    cells = page.texts["td"]
    assert "1.000 (1.000, 1.000, 1.000, 1.000)" in cells
    assert "300 (4 of 4)" in cells and "– (0 of 4)" in cells
    # What differs, and what does not.
    assert "epsilon" in page.texts["th"] and "epsilon" not in page.facts
    assert page.facts["learning_batch"] == "128"
    # The maps of all local seeds have the ten rows of the left edge; not all online seeds have one.
    assert "cells" in page.texts["th"] and cells.count("10") == 1
    for words in ("4 restarts", "no restarts", "10 cells visited in 40 queries"):
        assert words in page.text
    assert "Left out" not in page.text


def test_a_page_of_games_shows_what_was_found(make_run: MakeRun, tmp_path: Path) -> None:
    found = {"cells": [10, 40], "rooms": [1, 2], "max_screen_score": [0, 100]}
    run = make_run("local", [0, 0], names={"preset": "atari/montezuma-revenge"}, columns=found)
    make_run("online", [0, 0], access="online", names={"preset": "atari/montezuma-revenge"})
    exploration = Exploration(PLACES["montezuma-revenge"].projection())
    for room in (1, 1, 2):
        exploration.visit(room)
    exploration.evaluated(200)
    exploration.write(run / Exploration.file)
    record = RestartGallery()
    for level in (10, 200, 200):
        record.restart(np.full((4, 84, 84), level, np.uint8), 100.0)
    record.write(run / RestartGallery.file)
    text = write_report([tmp_path]).path.read_text()
    page = Page(text)
    captions = page.texts["figcaption"]
    for words in ("Cells seen", "Rooms reached", "Highest screen score"):
        assert f"{words}, one seed" in captions
    assert "2 rooms visited in 200 queries, no restarts" in page.text.lower()
    assert captions[-2:] == ["2 ×, score 100", "1 ×, score 100"]
    image = re.search(r'alt="Image 1 that[^"]*" src="data:image/png;base64,([^"]*)"', text)
    assert image is not None and (pixels(base64.b64decode(image[1])) == 200).all()


def test_where_nothing_was_found_nothing_is_said(runs: Path) -> None:
    for path in runs.glob("*/metrics.csv"):
        head, *rows = path.read_text().splitlines()
        column = head.split(",").index("positive_rewards")
        cells = [row.split(",") for row in rows]
        rows = [",".join([*row[:column], "0", *row[column + 1 :]]) for row in cells]
        path.write_text("\n".join([head, *rows]) + "\n")
    text = write_report([runs]).path.read_text()
    assert "Rewarded queries," not in text and "Most restarted" not in text


def test_each_measure_has_one_picture_and_the_ends_of_its_lines_are_explained(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for seed in range(5):
        make_run(f"local-{seed}", [0, 1], seed=seed, budget=1000)
        make_run(f"online-{seed}", [0, 0, 0], seed=seed, access="online")
    page = Page(write_report([tmp_path]).path.read_text())
    drawn = "mean and each of 5 seeds"
    captions = [f"Evaluation return, {drawn}", f"Rewarded queries, {drawn}"]
    assert page.texts["figcaption"] == captions
    assert "★ goal reached, last value held." in page.text


def test_the_costs_of_going_back_are_at_the_top(runs: Path) -> None:
    costs = "Going back took about 2 % of the local runs' time <at most>."
    page = write_report([runs], runs / "report.html", costs=costs).path.read_text()
    assert "Going back took about 2 %" in page.partition("</header>")[0]
    assert "<at most>" not in page
    markdown = write_report([runs], runs / "report.md", costs=costs).path.read_text()
    assert markdown.splitlines()[2] == costs


def test_the_page_needs_nothing_else_and_can_be_read_aloud(runs: Path) -> None:
    text = write_report([runs]).path.read_text()
    page = Page(text)
    assert all(link.startswith(("data:image/", "#")) for link in page.links)
    assert not re.search(r"url\((?!#)", text) and "<script" not in text and "@import" not in text
    assert len(page.ids) == len(set(page.ids))
    assert all(page.alts) and len(page.alts) == len(set(page.alts))
    assert page.headings[0] == "h1" and page.headings.count("h1") == 1
    levels = [int(tag[1]) for tag in page.headings]
    assert all(later <= before + 1 for before, later in itertools.pairwise(levels))


def test_colours_of_pictures_follow_the_page(runs: Path) -> None:
    text = write_report([runs]).path.read_text()
    body = text.partition("</style>")[2]
    assert "var(--c-0072b2)" in body and "#0072b2" not in body.lower()
    dark = text.partition("prefers-color-scheme: dark")[2]
    assert "--c-0072b2: #4DA3DD" in dark


def test_the_same_runs_give_the_same_page(runs: Path) -> None:
    before = write_report([runs]).path.read_bytes()
    assert write_report([runs]).path.read_bytes() == before


def test_names_cannot_break_the_page(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1], names={"preset": "<script>alert(1)</script>", "agent": '"><b>'})
    text = write_report([tmp_path]).path.read_text()
    Page(text)
    assert "<script" not in text and '"><b>' not in text


def test_presets_have_sections_of_their_own(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1])
    make_run("b", [0, 0.5], names={"preset": "another"})
    page = Page(write_report([tmp_path]).path.read_text())
    assert {"another", "deep-sea"} <= set(page.texts["h2"])
    assert "another DDQN, local had a best return of 0.500" in page.texts["h1"][0]


def test_many_groups_have_a_picture_an_agent(make_run: MakeRun, tmp_path: Path) -> None:
    for agent in ("ddqn", "ddqn-bonus"):
        for p_init in (0.0, 0.1, 0.2, 0.3, 0.4):
            names, found = {"agent": agent}, {"positive_rewards": [0, 0]}
            make_run(f"{agent}-{p_init}", [0, 1], names=names, p_init=p_init, columns=found)
    text = write_report([tmp_path]).path.read_text()
    assert Page(text).texts["figcaption"] == [
        "DDQN: evaluation return, one seed",
        "DDQN-Bonus: evaluation return, one seed",
    ]
    legends = re.findall(r'<ul class="legend">(.*?)</ul>', text)
    assert [legend.count("<li ") for legend in legends] == [5, 5]


def test_a_damaged_record_is_named_and_the_rest_drawn(runs: Path) -> None:
    broken = runs / "local-0" / Exploration.file
    broken.write_bytes(broken.read_bytes()[:100])
    written = write_report([runs])
    assert [path for path, _ in written.skipped] == [broken]
    text = written.path.read_text()
    assert "Left out" in text and str(broken) in text
    assert "DDQN, local, seed 1" in text


# Pictures


def record(visits: list[list[list[int]]], restarts: list[list[list[int]]]) -> Explored:
    counts = [np.array(grids, np.uint32) for grids in (visits, restarts)]
    edges = np.array([[0.0, 1.0], [0.0, 1.0]])
    ends = 10 * np.arange(1, len(visits) + 1)
    return Explored(ends, *counts, np.array(["row", "column"]), edges, np.array("cell"))


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def test_stills_add_up_what_was_visited() -> None:
    explored = record([[[5, 0], [0, 0]], [[0, 1], [0, 0]]], [[[0, 0], [0, 0]], [[1, 0], [0, 0]]])
    first, last = stills(explored)
    assert (first.queries, first.cells) == (10, 1) and (last.queries, last.cells) == (20, 2)
    ground = (16, 20, 28)
    before, after = pixels(first.visits), pixels(last.visits)
    assert tuple(before[0, 1]) == tuple(before[1, 1]) == ground
    assert tuple(after[0, 1]) != ground and tuple(after[1, 0]) == ground
    # More visits are brighter.
    assert after[0, 0].sum() > after[0, 1].sum()
    assert first.restarts is not None and last.restarts is not None
    assert tuple(pixels(first.restarts)[0, 0]) == ground
    assert tuple(pixels(last.restarts)[0, 0]) != ground
    assert stills(record([[[1]]], [[[0]]]))[0].restarts is None


def test_an_animation_has_a_frame_a_slice_with_restarts_in_white() -> None:
    explored = record([[[1, 0]], [[0, 1]]], [[[0, 0]], [[0, 1]]])
    picture = Image.open(io.BytesIO(animation(explored)))
    assert picture.n_frames == 2 and picture.info["loop"] == 0
    white = []
    for number in range(2):
        picture.seek(number)
        frame = np.asarray(picture.convert("RGB"))
        white.append((frame[:-6] == 255).all(axis=2))
    assert not white[0].any()
    # In the middle of the second cell, which is 120 pixels wide.
    assert white[1][60, 180] and not white[1][60, 60] and not white[1][60, 125]


# Layout

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
browser = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium to lay the page out: apt-get install chromium"
)

_MEASURE = """<!doctype html><meta charset="utf-8"><title>measure</title>
<iframe id="page" style="border: 0; width: {width}px; height: 900px"></iframe>
<script>
const frame = document.getElementById("page");
frame.onload = () => {{
  const page = frame.contentDocument, wide = [];
  for (const element of page.querySelectorAll("body *")) {{
    const scrolled = element.closest(".scroll");
    if ((!scrolled || scrolled === element) && element.getBoundingClientRect().right > {width} + 1)
      wide.push(element.tagName + "." + element.getAttribute("class"));
  }}
  const images = [...page.images].filter(image => !image.naturalWidth).length;
  document.title = JSON.stringify([page.documentElement.scrollWidth, wide, images]);
}};
frame.srcdoc = new TextDecoder().decode(
  Uint8Array.from(atob("{page}"), character => character.charCodeAt(0)));
</script>
"""


@browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_never_scrolls_sideways(runs: Path, tmp_path: Path, width: int) -> None:
    assert CHROMIUM is not None
    page = base64.b64encode(write_report([runs]).path.read_bytes()).decode()
    outer = tmp_path / "measure.html"
    outer.write_text(_MEASURE.format(width=width, page=page))
    command = [
        CHROMIUM,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
        "--hide-scrollbars",
    ]
    command += ["--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--virtual-time-budget=3000", "--window-size=1400,1000", outer.as_uri()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert f"<title>[{width},[],0]</title>" in ended.stdout
    assert "CONSOLE" not in ended.stderr
