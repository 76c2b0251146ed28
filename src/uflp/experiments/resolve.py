"""From what a user names and sets to the complete settings of a run."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import itertools
import json
import numbers
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

from uflp.agents import LEARNERS
from uflp.arguments import argument
from uflp.experiments.agents import NamedAgent, find_agent
from uflp.experiments.presets import ANYTHING, Preset, find_preset
from uflp.experiments.presets.anything import has_real_actions
from uflp.experiments.presets.preset import values_of
from uflp.planning import RULES
from uflp.registry import unknown
from uflp.simulators import SIMULATORS
from uflp.simulators.lookup import parse
from uflp.training.settings import (
    LOOP_PARTS,
    RENAMED,
    Access,
    PlanningSettings,
    RunSettings,
    present_names,
)
from uflp.types import UsageError
from uflp.uncertainty import UNCERTAINTIES


class UnchangedError(UsageError):
    """A variant changes nothing for the agent and access that were named."""


def resolve(
    preset: str,
    *,
    agent: str | None = None,
    uncertainty: str | None = None,
    access: str = "local",
    variant: str | None = None,
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
) -> RunSettings:
    """Return the settings of a run, or raise `UsageError` with the choices there are.

    Args:
        preset: name of a preset, or of a simulator with an id, such as `gym:MountainCar-v0`.
        agent: name of an agent; the preset's own if None.
        uncertainty: name of an uncertainty; what preset and agent suggest if None.
        access: `local` or `online`.
        variant: name of a variant of the preset; None means the preset as it is.
        seed: of all randomness.
        overrides: values by key, taking the place of the preset's; strings are read as values.
    """
    chosen, simulator_class, named_by = _chosen(preset)
    agent = agent or _default_agent(chosen, simulator_class, named_by, overrides or {})
    named = find_agent(agent)
    access = _checked_access(access)
    _require_seed(seed)
    overrides = _renamed(overrides or {})
    rule_name = str(overrides.get("rule", PlanningSettings.rule))
    rule = RULES.find(rule_name)
    if access == "online" and rule_name != PlanningSettings.rule:
        raise UsageError("online access never restarts: leave the rule alone, or use local access")
    learner = LEARNERS.find(named.learner)
    ensemble = "members" in _keys(learner)
    needs = rule.needs if access == "local" else None
    if uncertainty is None:
        uncertainty = _suggested_uncertainty(chosen, named, needs, ensemble=ensemble)
    if needs not in (None, "any", uncertainty):
        raise UsageError(f"the rule {rule_name} needs {needs} as uncertainty, not {uncertainty}")
    if uncertainty == "ensemble-std" and not ensemble:
        others = ", ".join(name for name in UNCERTAINTIES if name != uncertainty)
        raise UsageError(f"{agent} has no ensemble for ensemble-std to compare: choose {others}")

    parts = {
        "simulator": simulator_class,
        "learner": learner,
        "uncertainty": None if uncertainty is None else UNCERTAINTIES.find(uncertainty),
        "rule": rule,
        **LOOP_PARTS,
    }
    values = dict(chosen.values) | named_by
    values |= values_of(chosen.cases, agent, uncertainty, access)
    values |= named.values
    if variant is not None:
        values |= _variant_values(preset, chosen, variant, agent, uncertainty, access)
    values = _overridden(values, _read(parts, overrides), access)
    _require_moderate(values)
    simulator = _make(parts["simulator"], values)
    values = {key: value(simulator) if callable(value) else value for key, value in values.items()}
    _require_moderate(values)
    return RunSettings(
        preset=preset,
        agent=agent,
        uncertainty_name=uncertainty,
        access=access,
        variant=variant,
        seed=seed,
        exploration=named.exploration,
        simulator=simulator,
        agent_config=_make(learner, values),
        uncertainty=_make(parts["uncertainty"], values),
        rule=_make(rule, values),
        **{name: _make(part, values) for name, part in LOOP_PARTS.items()},
    )


def resolve_unless_unchanged(preset: str, *, variant: str | None, **options: Any) -> RunSettings:
    """Return the settings of a run with a variant, or of the preset if that changes nothing.

    Args:
        preset: see `resolve`.
        variant: see `resolve`.
        **options: see `resolve`.
    """
    try:
        return resolve(preset, variant=variant, **options)
    except UnchangedError:
        return resolve(preset, **options)


# Keys that say the same thing in two ways: one that is set takes the place of a preset's other.
_ALTERNATIVES = tuple(itertools.permutations(("sgd_period", "samples_per_insert")))


# Of things that are made at once: beyond these, any machine would run out of memory.
_LARGEST = {
    "size": 2_000,
    "hidden": 16_384,
    "members": 1_000,
    "atoms": 10_000,
    "feature_size": 16_384,
    "rnd_width": 16_384,
    "rnd_batch": 1_000_000,
    "learning_batch": 1_000_000,
    "batch": 1_000_000_000,
    "n_step": 1_000_000,
    "bins": 1_000_000,
    "hash_bits": 64,
    "sampled_actions": 100_000,
    "frame_skip": 1_000_000,
    "replay_size": 10_000_000_000,
    "history_size": 10_000_000_000,
}
_LARGEST_COUNT = 10**15
"""Of all else, which is only counted: every number up to it is exact as a float, too."""


def _require_moderate(values: Mapping[str, Any]) -> None:
    """Refuse whole numbers so large that nobody can mean them."""
    for key, value in values.items():
        most = _LARGEST.get(key, _LARGEST_COUNT)
        for number in value if isinstance(value, tuple) else (value,):
            if type(number) is int and abs(number) > most:
                raise UsageError(f"{key} must be at most {most:,}, not {number}")


def _checked_access(access: str) -> Access:
    if access not in ("local", "online"):
        raise UsageError(unknown("access", access, ("local", "online")))
    return typing.cast(Access, access)


def _require_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise UsageError(f"seed must be a whole number, not {seed!r}")
    if seed < 0:
        raise UsageError(f"seed must not be negative, not {seed}")


def _suggested_uncertainty(
    chosen: Preset, named: NamedAgent, needs: str | None, *, ensemble: bool
) -> str | None:
    """Return the uncertainty of a run that names none; None where nothing uses one.

    Args:
        chosen: the preset.
        named: the agent.
        needs: what the restart rule needs: the name of one, `any`, or None.
        ensemble: whether the agent has an ensemble.
    """
    if needs in UNCERTAINTIES:
        return needs
    if needs is None and named.exploration == "greedy":
        return None
    return named.uncertainty or ("ensemble-std" if ensemble else chosen.uncertainty)


def _overridden(
    values: Mapping[str, Any], overrides: Mapping[str, Any], access: Access
) -> dict[str, Any]:
    """Return a preset's values with overrides in their place; online access never restarts."""
    values = dict(values)
    if access == "online":
        values["p_init"] = 1.0
        if overrides.get("p_init", 1.0) != 1.0:
            raise UsageError(
                "online access means p_init=1: leave p_init alone, or use "
                f"{argument('access', 'local')}"
            )
    for key, other in _ALTERNATIVES:
        if key in overrides and other not in overrides:
            values.pop(other, None)
    return {**values, **overrides}


def _chosen(preset: str) -> tuple[Preset, Any, dict[str, Any]]:
    """Return a preset, its simulator's settings class, and what the name says of those."""
    found = find_preset(preset)
    if found is ANYTHING:
        return found, *parse(preset)
    return found, SIMULATORS[found.simulator], {}


def _default_agent(
    chosen: Preset, simulator: Any, named_by: Mapping[str, Any], overrides: Mapping[str, Any]
) -> str:
    """Return the preset's agent; `sac` where actions turn out to be real-valued."""
    if chosen is not ANYTHING:
        return chosen.agent
    values = {key: value for key, value in overrides.items() if key in _keys(simulator)}
    settings = _make(simulator, {**chosen.values, **named_by, **_read({"": simulator}, values)})
    return "sac" if has_real_actions(settings) else chosen.agent


def _renamed(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return overrides under the names that their keys have now."""
    for old, new in RENAMED.items():
        if old in overrides and new in overrides:
            raise UsageError(f"{old} is the old name of {new}: set one of the two")
    return present_names(overrides)


def _variant_values(
    preset: str, chosen: Preset, variant: str, agent: str, uncertainty: str | None, access: Access
) -> dict[str, Any]:
    """Return what a variant changes; an error if it changes nothing here."""
    if not chosen.variants:
        raise UsageError(f"{preset} has no variants: leave out {variant!r}")
    if variant not in chosen.variants:
        raise UsageError(unknown("variant", variant, chosen.variants))
    values = chosen.variants[variant].values(agent, uncertainty, access)
    if not values:
        raise UnchangedError(
            f"the variant {variant} of {preset} changes nothing for {agent} with {access} access: "
            "leave it out, or see `uflp list variants`"
        )
    return values


def _make(part: Any, values: Mapping[str, Any]) -> Any:
    """Build one settings class from the values that are its own."""
    if part is None:
        return None
    return part(**{key: values[key] for key in _keys(part) if key in values})


def _keys(part: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(part)]


_ARGUMENTS = {"agent", "uncertainty", "access", "variant", "seed", "seeds", "out", "ray", "actors"}
"""Arguments of commands and functions that may be taken for settings."""


def _read(parts: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Check the keys of overrides, and read their values as the types that the keys have."""
    kinds: dict[str, Any] = {}
    for part in parts.values():
        if part is not None:
            hints = typing.get_type_hints(part)
            kinds |= {key: hints[key] for key in _keys(part)}
    read = {}
    for key, value in overrides.items():
        if key not in kinds and key in _ARGUMENTS:
            raise UsageError(
                f"{key} is not a setting but an argument: --{key} on the command line, and "
                f"{key}=… where a function in Python takes it"
            )
        if key not in kinds:
            raise UsageError(unknown("key", key, sorted(kinds)))
        read[key] = _value(key, value, kinds[key])
    return read


def _value(key: str, value: Any, kind: Any) -> Any:
    """Read one value: `none`, numbers, booleans, words, and widths such as 64,64."""
    options = typing.get_args(kind) if _is_union(kind) else (kind,)
    # A folder may be called 2026: what is no such value as a number may still be one as a word.
    readings = [_literal(value, options), value] if isinstance(value, str) else [value]
    for reading, option in itertools.product(readings, options):
        accepted = _accept(reading, option)
        if accepted is not _NO:
            return accepted
    value = readings[0]
    raise UsageError(f"{key} must be {type_text(kind)}, not {value!r}")


_NO = object()


def _literal(text: str, options: tuple[Any, ...]) -> Any:
    if text.lower() in ("none", "all") and type(None) in options:
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if any(typing.get_origin(option) is dict for option in options):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def _accept(value: Any, kind: Any) -> Any:
    """Return the value as `kind`, or `_NO`."""
    if typing.get_origin(kind) is typing.Literal:
        return value if value in typing.get_args(kind) else _NO
    if typing.get_origin(kind) is tuple:
        items = value if isinstance(value, tuple | list) else (value,)
        return tuple(items) if all(type(item) is int for item in items) else _NO
    if typing.get_origin(kind) is dict:
        return value if type(value) is dict else _NO
    if kind is float and type(value) in (int, float):
        return float(value) if abs(value) <= sys.float_info.max else _NO
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is kind else _NO


def type_text(kind: Any) -> str:
    """Return the values that a setting of a type may have, in words."""
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
    texts = []
    for option in typing.get_args(kind) if _is_union(kind) else (kind,):
        if typing.get_origin(option) is typing.Literal:
            texts.append(" or ".join(map(str, typing.get_args(option))))
        elif typing.get_origin(option) is tuple:
            texts.append("whole numbers separated by commas")
        elif typing.get_origin(option) is dict:
            texts.append('an object of JSON such as {"name": 1}')
        elif option is type(None):
            texts.append("none")
        else:
            texts.append(names.get(option, "a Python object"))
    return " or ".join(texts)


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)
