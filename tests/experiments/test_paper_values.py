"""Presets against the paper's own values, typed into `paper_values.toml` from its text."""

import fnmatch
import itertools
import tomllib
from pathlib import Path

import pytest

from uflp.experiments.agents import AGENTS
from uflp.experiments.presets import PRESETS
from uflp.experiments.resolve import resolve
from uflp.types import UsageError
from uflp.uncertainty import UNCERTAINTIES

PAPER = tomllib.loads((Path(__file__).parent / "paper_values.toml").read_text())

# What the paper trains, by the presets' names.
BSUITE = [
    *itertools.product(
        ["deep-sea"], ["boot-ddqn", "ddqn-bonus", "ddqn", "pi-bonus"], [None], ["local", "online"]
    ),
    *itertools.product(
        ["swingup", "swingup-hard"],
        ["boot-ddqn", "ddqn-bonus", "pi-bonus"],
        [None],
        ["local", "online"],
    ),
]
MONTEZUMA = [
    ("atari/montezuma-revenge", "ddqn", None, "online"),
    ("atari/montezuma-revenge", "ddqn", "counts", "local"),
    ("atari/montezuma-revenge", "ddqn", "rnd", "local"),
    ("atari/montezuma-revenge", "ddqn-intrinsic", "counts", "online"),
    ("atari/montezuma-revenge", "ddqn-intrinsic", "counts", "local"),
]
GAMES = [
    (f"atari/{game}", "dist-ddqn", uncertainty, access)
    for game in ("montezuma-revenge", "private-eye", "venture", "pitfall")
    for uncertainty, access in ((None, "online"), ("counts", "local"), ("rnd", "local"))
]
TRAINED = [*BSUITE, *MONTEZUMA, *GAMES]


def every_combination():
    """Yields all settings that presets give without a variant, also those the paper has not."""
    choices = itertools.product(PRESETS, AGENTS, [None, *UNCERTAINTIES], ["local", "online"])
    for preset, agent, uncertainty, access in choices:
        try:
            yield resolve(preset, agent=agent, uncertainty=uncertainty, access=access)
        except UsageError:
            continue  # Such as an ensemble's disagreement without an ensemble.


ALL = list(every_combination())


def holds(entry, settings):
    return (
        any(fnmatch.fnmatch(settings.preset, name) for name in entry.get("presets", ["*"]))
        and settings.agent in entry.get("agents", [settings.agent])
        and (settings.uncertainty_name or "none")
        in entry.get("uncertainties", [settings.uncertainty_name or "none"])
        and settings.access in entry.get("access", settings.access)
    )


def as_typed(value):
    return "none" if value is None else list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("entry", PAPER["value"], ids=lambda entry: entry["where"][:60])
def test_presets_have_the_paper_s_values(entry):
    concerned = [settings for settings in ALL if holds(entry, settings)]
    # Agent random is not the paper's, and sets what it never uses to the smallest there is.
    concerned = [s for s in concerned if s.agent != "random" or "agents" in entry]
    assert concerned, "an entry that concerns no run proves nothing"
    for settings in concerned:
        values = {key: as_typed(value) for key, value in settings.values().items()}
        # Not every run has every part: an agent that never learns has no network.
        present = {key: values[key] for key in entry["values"] if key in values}
        expected = {key: entry["values"][key] for key in present}
        if settings.agent == "random" or settings.access == "online":
            expected.pop("batch", None), present.pop("batch", None)
        assert present == expected, settings.names()


@pytest.mark.parametrize("key", PAPER["neutral"])
def test_what_the_paper_does_not_have_is_left_out(key):
    found = {as_typed(s.values()[key]) for s in ALL if key in s.values()}
    assert found == {PAPER["neutral"][key]}


@pytest.mark.parametrize("names", TRAINED, ids=lambda names: "-".join(map(str, names)))
def test_every_setting_of_the_paper_s_runs_is_accounted_for(names):
    preset, agent, uncertainty, access = names
    settings = resolve(preset, agent=agent, uncertainty=uncertainty, access=access)
    stated = {key for entry in PAPER["value"] if holds(entry, settings) for key in entry["values"]}
    known = stated | set(PAPER["neutral"]) | set(PAPER["silent"]["keys"])
    assert set(settings.values()) - known == set()


def test_no_variant_is_called_so_in_every_record():
    assert {settings.variant for settings in ALL} == {None}
