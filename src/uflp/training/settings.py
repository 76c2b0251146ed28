"""What decides a run: the settings of the loop, and of the parts that it wires together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Literal

from uflp.collection.rules import RuleSettings
from uflp.collection.rules.uncertainty import MostUncertain
from uflp.types import UsageError

Access = Literal["online", "local"]
Exploration = Literal["greedy", "bonus", "intrinsic"]

RENAMED = {"newest": "recent_fraction"}
"""Present names of settings by the names they had before, which files and scripts may still use."""


@dataclass(frozen=True)
class LoopSettings:
    """Settings of Algorithms 1 and 2 around whichever agent, uncertainty and simulator.

    Attributes:
        queries: budget, in steps of the training simulator.
        p_init: probability that a rollout begins at the initial-state distribution; 1 is online.
        batch: B, the snapshots drawn for a restart; None means the whole history.
        rule: name of the rule that chooses among the snapshots; see `uflp list rules`.
        restart: `pair` restarts at the most uncertain (s, a), `state` at the most uncertain s with
            a random action; of the rule `uncertainty`.
        checkpoint_period: observations between two snapshots of a rollout.
        rollout_limit: queries after which a rollout is truncated; None runs episodes to their end.
        restart_limit: queries after which one that began with a restart is, if that is sooner; None
            treats it like any other. What is new mostly lies right behind a restart.
        history_size: snapshots that the history holds.
        history_bytes: budget of the history in bytes of snapshot data; None sets none.
        history_from: folder of a run whose history this one begins with; None begins with none.
        keep_history: whether the run folder keeps the history when the run is finished.
        demonstrations: file of episodes that the first rollouts play; None plays none.
        replay_size: transitions that the replay holds.
        min_replay: transitions before learning starts; None means one learning batch.
        learning_batch: transitions in an SGD step.
        recent_fraction: fraction of the learning batch that is the most recent transitions; the
            rest is drawn uniformly from the whole replay.
        sgd_period: queries between two SGD steps; None means 1, or leaves it to the next.
        samples_per_insert: transitions sampled for each one that comes in; takes the place of
            `sgd_period`.
        discount: γ.
        n_step: queries whose rewards a target sums before it bootstraps.
        reward_clip: reward sums that are learned from lie within ± this; None clips nothing.
        epsilon: probability of a random action while collecting.
        repeat_probability: probability that a random action is the rollout's last one once more.
        bonus_scale: c, the scale of the acting-time bonus or of the intrinsic reward.
        queries_at_once: queries of a rollout that are worked out together, at most, where the
            simulator's outcomes are known beforehand and the agent has neither an ensemble nor a
            bonus: quicker, with the same outcome.
        eval_period: queries between two evaluations.
        eval_episodes: episodes of an evaluation.
        eval_limit: steps after which an episode of an evaluation is cut short, so that one ends
            where the simulator sets no limit and the policy walks in circles; None sets none.
        target_return: what `queries_to_target` waits for; None waits for nothing.
    """

    queries: int = 100_000
    p_init: float = 0.1
    batch: int | None = None
    rule: str = "uncertainty"
    restart: Literal["pair", "state"] = "pair"
    checkpoint_period: int = 1
    rollout_limit: int | None = None
    restart_limit: int | None = None
    history_size: int = 1_000_000
    history_bytes: int | None = None
    history_from: str | None = None
    keep_history: bool = False
    demonstrations: str | None = None
    replay_size: int = 1_000_000
    min_replay: int | None = None
    learning_batch: int = 128
    recent_fraction: float = 0.0
    sgd_period: int | None = None
    samples_per_insert: float | None = None
    discount: float = 0.99
    n_step: int = 1
    reward_clip: float | None = None
    epsilon: float = 0.0
    repeat_probability: float = 0.0
    bonus_scale: float = 1.0
    queries_at_once: int = 16
    eval_period: int = 1000
    eval_episodes: int = 1
    eval_limit: int | None = 30_000
    target_return: float | None = None

    def __post_init__(self) -> None:
        for name in ("p_init", "epsilon", "discount", "repeat_probability", "recent_fraction"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} must lie in [0, 1], not {getattr(self, name)}")
        for name in (
            *("queries", "checkpoint_period", "history_size", "replay_size", "learning_batch"),
            *("eval_period", "eval_episodes", "n_step", "queries_at_once"),
        ):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in (
            *("batch", "rollout_limit", "restart_limit", "history_bytes", "min_replay"),
            *("sgd_period", "eval_limit"),
        ):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1 or none, not {value}")
        if self.replay_size < self.least_replay:
            raise UsageError(
                f"learning never starts: replay_size is {self.replay_size}, and it waits for "
                f"{self.least_replay} transitions"
            )
        for name in ("reward_clip", "samples_per_insert"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be positive or none, not {value}")
        if self.sgd_period is not None and self.samples_per_insert is not None:
            raise UsageError(
                f"sgd_period={self.sgd_period} and samples_per_insert={self.samples_per_insert} "
                "both say when to learn: give one of the two"
            )
        if self.restart not in ("pair", "state"):
            raise UsageError(f"restart must be pair or state, not {self.restart!r}")
        if not self.bonus_scale >= 0:
            raise UsageError(f"bonus_scale must not be negative, not {self.bonus_scale}")

    @property
    def least_replay(self) -> int:
        """Transitions before learning starts."""
        return self.min_replay or self.learning_batch

    @property
    def recent_rows(self) -> int:
        """Number of the most recent transitions in each learning batch."""
        return round(self.recent_fraction * self.learning_batch)

    @property
    def queries_per_step(self) -> int:
        """Queries between two SGD steps, where `samples_per_insert` does not decide."""
        return self.sgd_period or 1


@dataclass(frozen=True)
class RunSettings:
    """Everything that decides a run, so that equal settings give equal numbers.

    Attributes:
        preset: name of the preset, for the record.
        agent: name of the agent, for the record; it stands for `learner` and `exploration`.
        uncertainty_name: name of the uncertainty, None where the run needs none.
        access: `online` or `local`.
        seed: of all randomness.
        exploration: whether uncertainty enters acting (`bonus`), the reward (`intrinsic`), neither.
        simulator: settings whose `make(seed)` gives a simulator.
        learner: settings whose `make(space, actions)` gives an agent.
        uncertainty: settings whose `make(space, actions, seed)` gives an uncertainty, or None.
        loop: all the rest.
        rule: settings whose `make(sources)` gives the restart rule that `loop` names.
        variant: name of the preset's variant, for the record; None for the preset as it is.
    """

    preset: str
    agent: str
    uncertainty_name: str | None
    access: Access
    seed: int
    exploration: Exploration
    simulator: Any
    learner: Any
    uncertainty: Any | None
    loop: LoopSettings
    rule: RuleSettings = field(default_factory=MostUncertain)
    variant: str | None = None

    def names(self) -> dict[str, Any]:
        """Returns the names that identify the run."""
        return {
            "preset": self.preset,
            "agent": self.agent,
            "uncertainty": self.uncertainty_name,
            "access": self.access,
            "variant": self.variant,
            "seed": self.seed,
        }

    def values(self) -> dict[str, Any]:
        """Returns every resolved setting by its key."""
        return {
            key: value for part in self._parts() for key, value in dataclasses.asdict(part).items()
        }

    def defaults(self) -> dict[str, Any]:
        """Returns the default value of every setting that has one, by its key."""
        return defaults_of(*self._parts())

    def _parts(self) -> list[Any]:
        parts = [self.loop, self.simulator, self.learner, self.uncertainty, self.rule]
        return [part for part in parts if part is not None]


def present_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under the names that they have now."""
    return {RENAMED.get(key, key): value for key, value in settings.items()}


def defaults_of(*parts: Any) -> dict[str, Any]:
    """Returns the default value of every setting of some parts that has one, by its key."""
    fields = [one for part in parts for one in dataclasses.fields(part)]
    return {one.name: one.default for one in fields if one.default is not MISSING}
