"""The settings of a run: those of the loop, and of the parts that it wires together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from uflp.planning.rules import RuleSettings
from uflp.planning.rules.uncertainty import MostUncertain
from uflp.simulators.base import SimulatorSettings
from uflp.types import UsageError
from uflp.uncertainty.base import UncertaintySettings
from uflp.user_code import folder_of

if TYPE_CHECKING:
    from uflp.agents.base import AgentSettings

Access = Literal["online", "local"]
Exploration = Literal["greedy", "bonus", "intrinsic"]

RENAMED = {"newest": "recent_fraction"}
"""Present names of settings by the names they had before, which files and scripts may still use."""

DROPPED = {"queries_at_once"}
"""Settings of earlier versions that are read and ignored: they changed no number."""

BEFORE = {"time_limit": "continue"}
"""Values that a run had before a setting existed, where they are not its default."""


@dataclass(frozen=True)
class PlanningSettings:
    """Settings of the planner: where rollouts begin, how long they are, which states are saved.

    Attributes:
        p_init: probability that a rollout begins at the initial-state distribution; 1 is online.
        batch: B, the snapshots drawn for a restart; None means the whole history.
        rule: name of the rule that chooses among the snapshots; see `uflp list rules`.
        restart: `pair` restarts at the most uncertain (s, a), `state` at the most uncertain s with
            a random action; of the rule `uncertainty`.
        sampled_actions: K, the actions of a state that are drawn and compared where actions are
            real-valued: by `restart=pair`, and by a bonus.
        checkpoint_period: observations between two snapshots of a rollout.
        rollout_limit: queries after which a rollout is truncated; None runs episodes to their end.
        restart_limit: queries after which one that began with a restart is, if that is sooner; None
            treats it like any other. What is new mostly lies just after a restart.
        history_size: snapshots that the history holds.
        history_bytes: budget of the history in bytes of snapshot data; None sets none.
        history_from: folder of a run whose history this one begins with; None begins with none.
        keep_history: whether the run folder keeps the history when the run is finished.
        demonstrations: file of episodes that the first rollouts play; None plays none.
        call_timeout: seconds after which a call of the simulator (`reset`, `step`, `save`,
            `restore`) that has not returned counts as failed; None waits for ever.
    """

    p_init: float = 0.1
    batch: int | None = None
    rule: str = "uncertainty"
    restart: Literal["pair", "state"] = "pair"
    sampled_actions: int = 8
    checkpoint_period: int = 1
    rollout_limit: int | None = None
    restart_limit: int | None = None
    history_size: int = 1_000_000
    history_bytes: int | None = None
    history_from: str | None = None
    keep_history: bool = False
    demonstrations: str | None = None
    call_timeout: float | None = None

    def __post_init__(self) -> None:
        _require_fractions(self, "p_init")
        _require_at_least_one(self, "checkpoint_period", "history_size", "sampled_actions")
        _require_at_least_one_or_none(
            self, "batch", "rollout_limit", "restart_limit", "history_bytes"
        )
        if self.call_timeout is not None and not 0 < self.call_timeout <= 1e6:
            raise UsageError(f"call_timeout must be a number of seconds, not {self.call_timeout}")
        if self.restart not in ("pair", "state"):
            raise UsageError(f"restart must be pair or state, not {self.restart!r}")


@dataclass(frozen=True)
class ReplaySettings:
    """Settings of the replay: what it keeps, and what a learning batch is drawn from.

    Attributes:
        replay_size: transitions that the replay holds.
        min_replay: transitions before learning starts; None means one learning batch.
        learning_batch: transitions in an SGD step.
        recent_fraction: fraction of the learning batch that is the most recent transitions; the
            rest is drawn uniformly from the whole replay.
    """

    replay_size: int = 1_000_000
    min_replay: int | None = None
    learning_batch: int = 128
    recent_fraction: float = 0.0

    def __post_init__(self) -> None:
        _require_fractions(self, "recent_fraction")
        _require_at_least_one(self, "replay_size", "learning_batch")
        _require_at_least_one_or_none(self, "min_replay")
        if self.replay_size < self.least:
            raise UsageError(
                f"learning never starts: replay_size is {self.replay_size}, and it waits for "
                f"{self.least} transitions"
            )

    @property
    def least(self) -> int:
        """Transitions before learning starts."""
        return self.min_replay or self.learning_batch

    @property
    def recent_rows(self) -> int:
        """Number of the most recent transitions in each learning batch."""
        return round(self.recent_fraction * self.learning_batch)


@dataclass(frozen=True)
class LearningSettings:
    """Settings of learning: how often, and from which targets.

    Attributes:
        sgd_period: queries between two SGD steps; None means 1, or leaves it to the next.
        samples_per_insert: transitions sampled for each one that comes in; takes the place of
            `sgd_period`.
        discount: γ.
        n_step: queries whose rewards a target sums before it bootstraps.
        reward_clip: reward sums that are learned from lie within ± this; None clips nothing.
        init_from: folder of a run, or an exported agent, whose agent this run begins with; None
            begins with one that has learned nothing.
    """

    sgd_period: int | None = None
    samples_per_insert: float | None = None
    discount: float = 0.99
    n_step: int = 1
    reward_clip: float | None = None
    init_from: str | None = None

    def __post_init__(self) -> None:
        _require_fractions(self, "discount")
        _require_at_least_one(self, "n_step")
        _require_at_least_one_or_none(self, "sgd_period")
        for name in ("reward_clip", "samples_per_insert"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be positive or none, not {value}")
        if self.sgd_period is not None and self.samples_per_insert is not None:
            raise UsageError(
                f"sgd_period={self.sgd_period} and samples_per_insert={self.samples_per_insert} "
                "both say when to learn: give one of the two"
            )

    @property
    def queries_per_step(self) -> int:
        """Queries between two SGD steps, where `samples_per_insert` does not decide."""
        return self.sgd_period or 1


@dataclass(frozen=True)
class ActingSettings:
    """Settings of acting while data are collected.

    Attributes:
        epsilon: probability of a random action.
        repeat_probability: probability that a random action is the rollout's last one once more.
        bonus_scale: c, the scale of the acting-time bonus or of the intrinsic reward.
    """

    epsilon: float = 0.0
    repeat_probability: float = 0.0
    bonus_scale: float = 1.0

    def __post_init__(self) -> None:
        _require_fractions(self, "epsilon", "repeat_probability")
        if not self.bonus_scale >= 0:
            raise UsageError(f"bonus_scale must not be negative, not {self.bonus_scale}")


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings of the budget, and of the evaluations on the way.

    Attributes:
        queries: budget, in steps of the training simulator.
        eval_period: queries between two evaluations.
        eval_episodes: episodes of an evaluation.
        eval_limit: steps after which an episode of an evaluation is cut short, so that one ends
            where the simulator sets no limit and the policy walks in circles; None sets none.
        target_return: what `queries_to_target` waits for; None waits for nothing.
    """

    queries: int = 100_000
    eval_period: int = 1000
    eval_episodes: int = 1
    eval_limit: int | None = 30_000
    target_return: float | None = None

    def __post_init__(self) -> None:
        _require_at_least_one(self, "queries", "eval_period", "eval_episodes")
        _require_at_least_one_or_none(self, "eval_limit")


def _require_fractions(settings: Any, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(settings, name) <= 1:
            raise UsageError(f"{name} must lie in [0, 1], not {getattr(settings, name)}")


def _require_at_least_one(settings: Any, *names: str) -> None:
    for name in names:
        if getattr(settings, name) < 1:
            raise UsageError(f"{name} must be at least 1, not {getattr(settings, name)}")


def _require_at_least_one_or_none(settings: Any, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1 or none, not {value}")


LOOP_PARTS: Mapping[str, type] = {
    "planning": PlanningSettings,
    "replay": ReplaySettings,
    "learning": LearningSettings,
    "acting": ActingSettings,
    "evaluation": EvaluationSettings,
}
"""The parts of a run's settings that do not depend on its agent, uncertainty and simulator."""


@dataclass(frozen=True)
class RunSettings:
    """Everything that decides a run, so that equal settings give equal numbers.

    Attributes:
        preset: name of the preset, for the record.
        agent: name of the agent, for the record; it stands for `agent_config` and `exploration`.
        uncertainty_name: name of the uncertainty, None where the run needs none.
        access: `online` or `local`.
        seed: of all randomness.
        exploration: whether uncertainty enters acting (`bonus`), the reward (`intrinsic`), neither.
        simulator: settings whose `make(seed)` gives a simulator.
        agent_config: settings whose `make(space, actions)` gives an agent.
        uncertainty: settings whose `make(space, actions, seed)` gives an uncertainty, or None.
        planning: where rollouts begin and what is saved.
        replay: what is kept to learn from.
        learning: how often, and from which targets.
        acting: how data are collected.
        evaluation: the budget, and the evaluations on the way.
        rule: settings whose `make(sources)` gives the restart rule that `planning` names.
        variant: name of the preset's variant, for the record; None for the preset as it is.
    """

    preset: str
    agent: str
    uncertainty_name: str | None
    access: Access
    seed: int
    exploration: Exploration
    simulator: SimulatorSettings
    agent_config: AgentSettings
    uncertainty: UncertaintySettings | None
    planning: PlanningSettings = PlanningSettings()
    replay: ReplaySettings = ReplaySettings()
    learning: LearningSettings = LearningSettings()
    acting: ActingSettings = ActingSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    rule: RuleSettings = field(default_factory=MostUncertain)
    variant: str | None = None

    def names(self) -> dict[str, Any]:
        """Return the names that identify the run."""
        return {
            "preset": self.preset,
            "agent": self.agent,
            "uncertainty": self.uncertainty_name,
            "access": self.access,
            "variant": self.variant,
            "seed": self.seed,
        }

    @property
    def imports(self) -> dict[str, str | None]:
        """Names of the user's own code that the run imports, each with the folder it was found in.

        The folder is None where Python finds the module by itself.
        """
        names = (self.agent, self.uncertainty_name, self.planning.rule)
        own = {name: folder_of(name) for name in names if name is not None and ":" in name}
        return own | getattr(self.simulator, "imports", {})

    def values(self) -> dict[str, Any]:
        """Return every resolved setting by its key."""
        return {
            key: value for part in self._parts() for key, value in dataclasses.asdict(part).items()
        }

    def changed(self, **values: Any) -> RunSettings:
        """Return these settings with other values, by their flat keys."""
        unknown = values.keys() - self.values().keys()
        if unknown:
            raise UsageError(f"no such setting: {min(unknown)}")
        parts: dict[str, Any] = {}
        for field_ in dataclasses.fields(self):
            part = getattr(self, field_.name)
            if dataclasses.is_dataclass(part) and not isinstance(part, type):
                own = {one.name for one in dataclasses.fields(part)} & values.keys()
                parts[field_.name] = dataclasses.replace(part, **{key: values[key] for key in own})
        return dataclasses.replace(self, **parts)

    def defaults(self) -> dict[str, Any]:
        """Return the value of settings that a record of an earlier version lacks, by their keys."""
        return defaults_of(*self._parts())

    def _parts(self) -> list[Any]:
        loop = [getattr(self, name) for name in LOOP_PARTS]
        others = [self.simulator, self.agent_config, self.uncertainty, self.rule]
        return [part for part in (*loop, *others) if part is not None]


def present_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under the names that they have now, without those that are gone."""
    kept = {key: value for key, value in settings.items() if key not in DROPPED}
    return {RENAMED.get(key, key): value for key, value in kept.items()}


def defaults_of(*parts: Any) -> dict[str, Any]:
    """Return the value of settings that a record of an earlier version lacks, by their keys.

    That is the default, or what was done before there was such a setting.
    """
    fields = [one for part in parts for one in dataclasses.fields(part)]
    return {
        one.name: BEFORE.get(one.name, one.default) for one in fields if one.default is not MISSING
    }
