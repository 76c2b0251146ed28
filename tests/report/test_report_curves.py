"""Pictures show what the statistics say, and leave Matplotlib's global state alone."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import scipy.stats
from fabricated import MakeRun
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from uflp.report.curves import (
    Reference,
    add_legend,
    draw,
    drawn,
    ends_drawn,
    learning_curves,
    render,
)
from uflp.report.formatting import seeds_drawn
from uflp.report.groups import Group, group_runs
from uflp.report.runs import read_runs
from uflp.report.style import AGENT_STYLES, colours, scale_colours


@pytest.fixture
def groups(make_run: MakeRun, tmp_path: Path) -> list[Group]:
    for seed, value in enumerate([0.0, 0.5, 1.0]):
        make_run(f"local-{seed}", [0.0, value], seed=seed, target_return=None)
        make_run(f"online-{seed}", [0, 0], seed=seed, access="online", target_return=None)
    return group_runs(read_runs([tmp_path])[0])[0]


@pytest.fixture
def five(make_run: MakeRun, tmp_path: Path) -> list[Group]:
    """Five seeds, which end at 1, 2, 3, 4 and 5."""
    for seed in range(5):
        make_run(f"local-{seed}", [0, seed + 1], seed=seed, target_return=None)
        make_run(f"online-{seed}", [0, 0], seed=seed, access="online", target_return=None)
    return group_runs(read_runs([tmp_path])[0])[0]


def test_of_few_seeds_each_is_drawn_and_no_interval(groups: list[Group]) -> None:
    axes = Figure().add_subplot()
    handles = draw(axes, groups)
    # One for what was measured and one for what is held, which here is nothing but its last point.
    seeds, held = axes.lines[:6:2], axes.lines[1:6:2]
    ends = [0.0, 0.5, 1.0]
    for line, value in zip(seeds, ends, strict=True):
        np.testing.assert_allclose(line.get_xydata(), [[100, 0], [200, value]])
        assert line.get_alpha() < 1 and line.get_linewidth() < 2
    assert [line.get_xydata().tolist() for line in held] == [[[200, end]] for end in ends]
    assert len(axes.lines) == 12 and len(axes.collections) == 0
    assert [handle.get_label() for handle in handles] == ["DDQN, local", "DDQN, online"]
    assert drawn(groups) == "each of 3 seeds"


def test_a_seed_that_stopped_at_its_goal_goes_on_thinly_beside_one_that_did_not(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("a", [0, 1], seed=0, budget=1000)
    make_run("b", [0, 0, 0, 0], seed=1, budget=1000, stopped=None)
    groups = group_runs(read_runs([tmp_path])[0])[0]
    axes = Figure().add_subplot()
    draw(axes, groups)
    solved, held, cut, after = axes.lines
    np.testing.assert_array_equal(solved.get_xydata(), [[100, 0], [200, 1]])
    np.testing.assert_array_equal(held.get_xydata(), [[200, 1], [400, 1]])
    assert held.get_linewidth() < solved.get_linewidth()
    assert cut.get_xdata().tolist() == [100, 200, 300, 400] and len(after.get_xdata()) == 1


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, 1], "one seed"),
        ([2, 4], "each of 2 to 4 seeds"),
        ([5, 9], "mean and each of 5 to 9 seeds"),
        ([10, 10], "mean and 95 % bootstrap interval, 10 seeds"),
        ([3, 5], "mean and each of 5 seeds; each of 3 seeds"),
        (
            [1, 5, 20],
            "mean and 95 % bootstrap interval, 20 seeds; mean and each of 5 seeds; one seed",
        ),
    ],
)
def test_pictures_say_what_they_draw(counts: list[int], words: str) -> None:
    assert seeds_drawn(counts) == words


def test_lines_are_means_in_the_agents_colour(five: list[Group]) -> None:
    axes = Figure().add_subplot()
    handles = draw(axes, five)
    local, online = axes.lines[0], axes.lines[7]  # Each is followed by its end and five seeds.
    np.testing.assert_allclose(local.get_xydata(), [[100, 0], [200, 3]])
    assert (
        to_hex(local.get_color())
        == to_hex(online.get_color())
        == AGENT_STYLES["ddqn"].colour.lower()
    )
    assert local.get_linestyle() == "-" and online.get_linestyle() == "--"
    assert [handle.get_label() for handle in handles] == ["DDQN, local", "DDQN, online"]
    assert axes.get_xlabel() == "simulator queries"
    assert axes.get_ylabel() == "evaluation return"


def test_the_mean_of_five_seeds_is_drawn_over_each_of_them(five: list[Group]) -> None:
    figure = learning_curves(five)
    (axes,) = figure.axes
    mean, _, *seeds = axes.lines[:7]
    assert [line.get_ydata().tolist() for line in seeds] == [[0, end] for end in range(1, 6)]
    assert all(line.get_zorder() < mean.get_zorder() for line in seeds)
    assert len(axes.lines) == 14 and len(axes.collections) == 0
    (note,) = [text for text in axes.texts if text.get_text() == "mean and each of 5 seeds"]
    figure.canvas.draw()
    box = note.get_window_extent()
    assert box.y0 >= 0 and not box.overlaps(axes.xaxis.label.get_window_extent())


def test_the_band_of_ten_seeds_is_their_interval(make_run: MakeRun, tmp_path: Path) -> None:
    values = [0.0, 0.0, 0.1, 0.2, 0.3, 0.3, 0.5, 0.8, 0.9, 1.0]
    for seed, value in enumerate(values):
        make_run(f"{seed}", [0, value], seed=seed, target_return=None)
    axes = Figure().add_subplot()
    draw(axes, group_runs(read_runs([tmp_path])[0])[0])
    corners = axes.collections[0].get_paths()[0].vertices
    at_the_end = corners[corners[:, 0] == 200, 1]
    expected = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=50_000, method="percentile", rng=0
    ).confidence_interval
    assert (at_the_end.min(), at_the_end.max()) == pytest.approx(expected, abs=0.01)
    assert len(axes.lines) == 2


def test_a_goal_is_held_thinly_to_the_end_of_the_axis(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1], budget=1000)
    make_run("b", [0, 0, 0, 0], access="online")
    groups = group_runs(read_runs([tmp_path])[0])[0]
    axes = Figure().add_subplot()
    draw(axes, groups)
    measured, held = axes.lines[:2]
    assert measured.get_xdata().tolist() == [100, 200]
    np.testing.assert_array_equal(held.get_xydata(), [[200, 1], [400, 1]])
    assert held.get_linewidth() < measured.get_linewidth()


def test_every_end_before_that_of_the_axis_is_marked_and_explained(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("goal", [0, 1], budget=1000)
    make_run("short", [0, 0, 0], seed=1)
    make_run("long", [0, 0, 0, 0], access="online")
    groups = group_runs(read_runs([tmp_path])[0])[0]
    figure = learning_curves(groups)
    (axes,) = figure.axes
    marks = {line.get_marker(): line.get_xdata()[0] for line in axes.lines[1::2]}
    assert marks == {"*": 200, "|": 300, None: 400} or marks == {"*": 200, "|": 300, "None": 400}
    meaning = "★ goal reached, last value held; | end of shorter runs"
    assert any(text.get_text().endswith(f"\n{meaning}") for text in axes.texts)
    assert ends_drawn(groups) == meaning
    assert ends_drawn(groups, until=200) == ""


def test_counts_start_at_zero(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 0], columns={"cells": [1000, 1100]})
    groups = group_runs(read_runs([tmp_path])[0])[0]
    axes = Figure().add_subplot()
    draw(axes, groups, column="cells")
    assert -100 < axes.get_ylim()[0] <= 0


def test_a_single_evaluation_can_be_seen(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0.5])
    axes = Figure().add_subplot()
    draw(axes, group_runs(read_runs([tmp_path])[0])[0])
    assert axes.lines[0].get_marker() == "o" and axes.lines[0].get_markevery() is None


def test_settings_are_told_apart_by_shades(make_run: MakeRun, tmp_path: Path) -> None:
    for p_init in (0.1, 0.5, 0.9):
        make_run(f"{p_init}", [0, p_init], p_init=p_init)
    make_run("online", [0, 0], access="online")
    groups = group_runs(read_runs([tmp_path])[0])[0]
    own = AGENT_STYLES["ddqn"].colour
    *lighter, last, online = colours(groups)
    assert last == online == own
    # Each with more of its own colour, and less white, than the one before.
    red = [int(colour[1:3], 16) for colour in (*lighter, last)]
    assert red == sorted(red, reverse=True) and len(set(red)) == 3
    axes = Figure().add_subplot()
    draw(axes, groups, shades=scale_colours(4))
    assert [to_hex(line.get_color()) for line in axes.lines[::2]] == scale_colours(4)
    assert len(set(scale_colours(4))) == 4


def test_reference_lines_are_named(groups: list[Group]) -> None:
    axes = Figure().add_subplot()
    draw(axes, groups, references=[Reference(2.5, "a person")])
    assert axes.lines[-1].get_ydata()[0] == 2.5
    assert [text.get_text() for text in axes.texts] == ["a person"]


def test_a_reference_out_of_reach_is_named_at_the_edge(groups: list[Group]) -> None:
    axes = Figure().add_subplot()
    near, far = Reference(0.25, "near", reach=False), Reference(1e4, "far", reach=False)
    draw(axes, groups, references=[near, far])
    assert axes.get_ylim()[1] < 2
    assert [text.get_text() for text in axes.texts] == ["far ↑", "near"]
    assert [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == ":"] == [0.25]


def test_nothing_is_clipped_or_overlaps(make_run: MakeRun, tmp_path: Path) -> None:
    names = [*AGENT_STYLES, "an-agent-with-a-rather-long-name"]
    for agent in names:
        for access in ("local", "online"):
            make_run(f"{agent}-{access}", [0, 40_000], access=access, names={"agent": agent})
    groups = group_runs(read_runs([tmp_path])[0])[0]
    figure = learning_curves(groups, title="deep-sea", references=[Reference(1e4, "target")])
    figure.canvas.draw()
    axes, legend = figure.axes[0], figure.legends[0]
    legend_box, axes_box = legend.get_window_extent(), axes.get_tightbbox()
    assert len(legend.get_texts()) == 2 * len(names)
    for box in (legend_box, axes_box):
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
    assert not legend_box.overlaps(axes_box)


def test_panels_share_a_legend(groups: list[Group]) -> None:
    figure = Figure(layout="constrained")
    panels = figure.subplots(1, 2)
    handles = draw(panels[0], groups)
    assert draw(panels[1], groups, column="cells") == []
    add_legend(figure, handles)
    assert len(figure.legends) == 1


def test_files_are_of_the_size_promised_and_reproducible(groups: list[Group]) -> None:
    png = render(learning_curves(groups), "png")
    assert png.startswith(b"\x89PNG")
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (1200, 750)
    svg = render(learning_curves(groups), "svg")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert svg == render(learning_curves(groups), "svg")
    assert png == render(learning_curves(groups), "png")


def test_the_users_settings_neither_matter_nor_change(groups: list[Group]) -> None:
    expected = render(learning_curves(groups), "png")
    with matplotlib.rc_context({"axes.facecolor": "red", "xtick.labelsize": 30}):
        assert render(learning_curves(groups), "png") == expected
        assert matplotlib.rcParams["xtick.labelsize"] == 30


def test_importing_the_report_does_not_import_matplotlib() -> None:
    code = "import uflp.report, sys; sys.exit('matplotlib' in sys.modules or 'jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_drawing_leaves_pyplot_out(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", [0, 1])
    code = (
        "import sys, pathlib; from uflp.report import write_report;"
        f"write_report([pathlib.Path({str(tmp_path)!r})], None);"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
