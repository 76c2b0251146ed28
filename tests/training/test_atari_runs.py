"""Runs on games, and the agent that does not learn: what restarts do alone."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import uflp
from uflp.experiments.presets import PRESETS
from uflp.experiments.resolve import resolve
from uflp.planning import Actor
from uflp.randomness import Randomness
from uflp.replay import FrameReplay, Replay, replay_of
from uflp.spaces import Frames
from uflp.training.exploration_log import read_explored, read_sheet
from uflp.training.run import Run

SHORT: dict[str, Any] = {"queries": 60, "eval_period": 30, "max_frames": 80, "rollout_limit": 12}
CLOCKS = ("wall_seconds",)


def without_clocks(result: Any) -> dict[str, Any]:
    return {
        key: [repr(value) for value in values]
        for key, values in result.metrics.items()
        if key not in CLOCKS
    }


def test_it_restarts_in_a_game_and_reports_cells() -> None:
    pytest.importorskip("ale_py")
    first, again = (
        uflp.train("atari/montezuma-revenge", agent="random", seed=3, **SHORT) for _ in range(2)
    )
    assert without_clocks(first) == without_clocks(again)
    assert first.summary["cells"] >= 2
    assert first.summary["max_screen_score"] == 0
    assert first.metrics["restarts"][-1] >= 1
    assert first.metrics["replay_size"][-1] == first.metrics["sgd_steps"][-1] == 0
    assert list(first.metrics["cells"]) == sorted(first.metrics["cells"])


def test_it_keeps_the_rooms_and_the_images_that_it_restarted_from(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    result = uflp.train("atari/montezuma-revenge", agent="random", out=tmp_path / "run", **SHORT)
    restarts = result.metrics["restarts"][-1]
    assert restarts >= 1 and result.summary["rooms"] == 1
    explored = read_explored(tmp_path / "run" / "exploration.npz")
    # The game begins in room 1, the middle of the top floor.
    assert str(explored.unit) == "room" and explored.visits.shape[1:] == (4, 9)
    assert explored.visits.sum(axis=0)[0, 4] == explored.visits.sum() == 60
    assert explored.restarts.sum() == restarts
    sheet = read_sheet(tmp_path / "run" / "restarted.npz")
    assert sheet.restarts.sum() == restarts and sheet.frames.shape[1:] == (84, 84)
    assert sheet.frames.any()


def test_a_resumed_game_has_the_same_rooms_and_images() -> None:
    pytest.importorskip("ale_py")
    settings = resolve("atari/montezuma-revenge", agent="random", overrides=SHORT)
    whole, first, second = (Run(settings) for _ in range(3))
    list(whole.train())
    states: list[Any] = []

    def pause() -> None:
        if first.queries == 35:
            states.append(copy.deepcopy(first.state()))

    list(first.train(pause))
    second.load(states[0])
    list(second.train())
    for run in (first, second):
        for ours, theirs in zip(
            run.exploration_log.records, whole.exploration_log.records, strict=True
        ):
            np.testing.assert_equal(ours.state(), theirs.state())
    assert whole.exploration_log.restarted is not None
    assert whole.exploration_log.restarted.sheet().restarts.sum() > 1


def test_online_it_saves_nothing_but_still_counts_cells() -> None:
    pytest.importorskip("ale_py")
    result = uflp.train("atari/venture", agent="random", access="online", **SHORT)
    assert result.summary["uncertainty"] is None
    assert result.metrics["history_size"][-1] == 0
    assert "rooms" not in result.summary  # Venture does not tell them.
    assert result.summary["cells"] >= 2


def test_it_finds_the_corner_of_a_small_deep_sea_by_restarts_alone() -> None:
    found = {
        access: uflp.train(
            "deep-sea", agent="random", access=access, size=10, queries=4000, uncertainty="counts"
        ).summary["positive_rewards"]
        for access in ("local", "online")
    }
    # 2^-10 a rollout by chance: 0.4 expected in 400 rollouts.
    assert found["local"] > 10 * max(found["online"], 1)


def note_actions(simulator: Any) -> list[int]:
    """Returns a list that fills with what is done in a simulator."""
    step, actions = simulator.step, []

    def noted(action: int) -> Any:
        actions.append(action)
        return step(action)

    simulator.step = noted
    return actions


def test_its_actions_are_uniform_and_so_is_its_evaluation() -> None:
    run = Run(
        resolve(
            "deep-sea",
            agent="random",
            overrides={"size": 10, "queries": 4000, "eval_period": 4000, "eval_episodes": 400},
        )
    )
    actions: dict[str, list[int]] = {}
    for name, simulator in (("run", run.simulator), ("evaluation", run.evaluator.simulator)):
        actions[name] = note_actions(simulator)
    list(run.train())
    for chosen in actions.values():
        assert len(chosen) >= 4000
        assert abs(np.mean(chosen) - 0.5) < 4 * 0.5 / np.sqrt(len(chosen))


def test_random_actions_repeat_within_a_rollout_as_often_as_asked() -> None:
    def none(observation: Any) -> np.ndarray:
        raise AssertionError("nothing is predicted")

    actor = Actor(
        none, none, None, Randomness(0), actions=1000, epsilon=1.0, repeat_probability=0.75
    )
    rng = np.random.default_rng(0)
    repeated = []
    last = None
    for query in range(4000):
        if query % 100 == 0:
            actor.begin_rollout(rng)
            last = None
        action = actor.act(0, 0, query)
        if last is not None:
            repeated.append(action == last)
        last = action
    assert abs(np.mean(repeated) - 0.75) < 4 * np.sqrt(0.75 * 0.25 / len(repeated))


def test_presets_hold_the_values_of_the_paper() -> None:
    games = [name for name in PRESETS if name.startswith("atari/")]
    assert len(games) == 4
    pytest.importorskip("ale_py")
    for name in games:
        for access in ("local", "online"):
            settings = resolve(name, access=access)
            game, learner = settings.simulator, settings.agent_config
            values = settings.values()
            assert (learner.hidden, learner.learning_rate) == ((512,), 1e-4)
            assert (learner.adam_epsilon, learner.max_gradient_norm) == (1e-5, 10.0)
            assert (learner.target_period, learner.huber) == (2500, 1.0)
            montezuma = name == "atari/montezuma-revenge"
            assert values["rollout_limit"] == (2000 if montezuma and access == "local" else None)
            assert values["queries"] == (10**9 if montezuma else 2 * 10**8)
            assert values["discount"] == (0.997 if name == "atari/private-eye" else 0.99)
            assert (values["restart"], values["checkpoint_period"]) == ("state", 10)
            assert values["history_size"] == 10**6
            assert values["epsilon"] == (0.1 if montezuma and access == "online" else 0.01)
            assert (
                values["n_step"],
                values["reward_clip"],
                values["learning_batch"],
            ) == (3, 1.0, 128)
            assert (values["min_replay"], values["replay_size"]) == (50_000, 5_000_000)
            assert (values["samples_per_insert"], values["sgd_period"]) == (8, None)
            assert values["p_init"] == (0.2 if access == "local" else 1.0)
            assert (game.sticky, game.frame_skip, game.max_frames) == (0.25, 4, 108_000)
            assert f"atari/{game.game}" == name


def test_every_game_is_a_preset() -> None:
    pytest.importorskip("ale_py")
    settings = resolve("atari/breakout", agent="random")
    assert settings.simulator.game == "breakout"
    assert (settings.planning.rollout_limit, settings.planning.batch) == (100, None)
    assert resolve("atari/breakout", agent="random", access="online").planning.rollout_limit is None
    assert resolve("atari/montezuma-revenge", agent="random").planning.rollout_limit == 100
    with pytest.raises(uflp.UsageError, match="did you mean 'breakout'"):
        resolve("atari/brekout")
    with pytest.raises(uflp.UsageError, match="did you mean 'atari/venture'"):
        resolve("atary/venture")


def test_an_agent_learns_from_images_with_intrinsic_reward() -> None:
    pytest.importorskip("ale_py")
    small = {"hidden": (8,), "learning_batch": 2, "min_replay": 6, "sgd_period": 8, "queries": 24}
    result = uflp.train("atari/pitfall", agent="ddqn-intrinsic", seed=1, **(SHORT | small))
    assert result.metrics["sgd_steps"][-1] == 3
    assert np.isfinite(result.metrics["loss"][-1])
    # Each rollout's last two queries give shorter rows, so that there is one for each query.
    assert 24 - 2 <= result.metrics["replay_size"][-1] <= 24
    assert result.settings.planning.p_init == 0.7


def test_only_stacks_of_frames_are_stored_as_such() -> None:
    """A coloured image has the shape of a stack, but its rows are not frames that move on."""
    image = gymnasium.spaces.Box(0, 255, (7, 7, 3), np.uint8)
    assert type(replay_of(image, 10)) is Replay
    assert type(replay_of(Frames((7, 7, 3)), 10)) is FrameReplay
