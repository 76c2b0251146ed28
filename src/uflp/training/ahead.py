"""Learning ahead of the queries, where what they lead to is known beforehand.

Handing an SGD step of a small network to the device and fetching what to do next takes as long as
the step itself. Where a simulator lists its outcomes, the next queries can be worked out on the
device, with the SGD steps that follow them, in one call. Then they are made as ever, by the same
code; they only find that the values to act by, and the losses, are there already.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from uflp.collection import Rollout
from uflp.collection.rules.uncertainty import MostUncertain
from uflp.memory import Replay
from uflp.randomness import Randomness
from uflp.state import State
from uflp.training.compiled import LearnAndLook
from uflp.training.learning import Learning
from uflp.training.settings import LoopSettings, RunSettings
from uflp.types import Outcomes, RunError

if TYPE_CHECKING:
    from uflp.agents.base import Agent

_KEPT = 64  # Calls from one copy of the learner to the next; a copy takes a fifth of a call's time.


class OutcomeError(RunError):
    """A simulator did something else than what it had listed."""


def may_look_ahead(settings: RunSettings, agent: Agent) -> bool:
    """Returns whether an agent's values, and draws, alone decide what happens in a rollout.

    That is, if a simulator's outcomes are certain, if a row of replay is one query, if each query
    is followed by one SGD step, and if nobody asks for values in mid-rollout. An ensemble's SGD
    steps take so long that there is nothing to be gained.
    """
    loop = settings.loop
    return (
        loop.queries_at_once > 1
        and agent.target == "td"
        and agent.members == 1
        and settings.exploration == "greedy"
        and loop.n_step == loop.queries_per_step == 1
        and loop.samples_per_insert is loop.demonstrations is None
        and loop.repeat_probability == 0
        and isinstance(settings.rule, MostUncertain)
    )


class LearningAhead(Learning):
    """Learns from queries before they are made, as many as are worked out in one call."""

    def __init__(
        self,
        agent: Agent,
        learn_and_look: LearnAndLook,
        replay: Replay,
        randomness: Randomness,
        outcomes: Outcomes,
        loop: LoopSettings,
        dtype: np.dtype,
    ):
        """Makes a learner that has learned nothing.

        Args:
            agent: what learns; see `may_look_ahead`.
            learn_and_look: its compiled update.
            replay: what it learns from.
            randomness: of the run.
            outcomes: of the simulator.
            loop: settings of the run.
            dtype: of observations.
        """
        import jax

        size = loop.learning_batch
        super().__init__(agent, learn_and_look, replay, randomness, size=size, dtype=dtype)
        self._replay: Replay = replay
        self._loop = loop
        self._most = min(loop.queries_at_once, loop.replay_size)
        rows = _rows(outcomes, replay.row, loop)
        self._tables = jax.device_put((rows, outcomes.terminated))
        self._work_out = _compiled(agent, replay.row)
        self._first = self._end = 0  # Queries worked out: those from the first to before the end.
        self._told = self._seen = np.empty(0)
        self._copy: Any = None  # The learner as it was before the calls
        self._calls: list[tuple[np.ndarray, ...]] = []  # with these arguments.

    def values(self, observation: Any, query: int) -> np.ndarray:
        """Returns action values by every ensemble member, [M, A], of what is seen at a query."""
        if self._first <= query < self._end:
            return self._told[query - self._first, None, :-1]
        return super().values(observation, query)

    def prepare(self, rollout: Rollout, query: int, left: int, pause: Callable[[], None]) -> None:
        """Works the next queries out, unless this one is; see `Learning.prepare`."""
        if query < self._end:  # The learner is ahead of the queries.
            return
        pause()
        loop = self._loop
        if self._replay.added + 1 < loop.least_replay:
            return
        count = min(self._most, loop.eval_period - query % loop.eval_period, max(1, left))
        if rollout.left is not None:
            count = min(count, rollout.left)
        steps = range(self.steps, self.steps + self._most)
        draws = [self._randomness.uniforms("replay", step, self._size) for step in steps]
        known, coming = self._replay.foresee(np.stack(draws))
        given = np.array([rollout.given(query, later) for later in range(self._most)], np.int32)
        here = np.array([rollout.observation, count], np.int32)
        self._note((known, coming, given, here))
        self.learner, told, seen = self._work_out(self.learner, self._tables, *self._calls[-1])
        self._told, self._seen = np.asarray(told), np.asarray(seen)
        self._first, self._end = query, query + int(self._seen[-1])

    def forget(self, query: int) -> None:
        """Takes back the SGD steps of queries that will not be made; see `Learning.forget`."""
        super().forget(query)
        if query < self._end:
            *calls, (*last, (observation, _)) = self._calls
            here = np.array([observation, query - self._first], np.int32)
            # The steps before it are taken again from the copy on, which gives the same numbers.
            self.learner = self._copy
            for arguments in (*calls, (*last, here)):
                self.learner, *_ = self._work_out(self.learner, self._tables, *arguments)
            self._calls = []
            self._end = query

    def learn(self, rollout: Rollout, query: int) -> float:
        """Takes note of the SGD step before a query, which is taken already; returns the loss."""
        made = query - 1 - self._first
        if query > self._end or rollout.observation != self._seen[made]:
            raise OutcomeError(
                f"the simulator went elsewhere at query {query} than its outcomes() say: run with "
                "--set queries_at_once=1"
            )
        self.steps += 1
        return float(self._told[made, -1])

    def load(self, state: State) -> None:
        """Takes such a state of an equal run."""
        super().load(state)
        self._calls = []

    def _note(self, arguments: tuple[np.ndarray, ...]) -> None:
        """Takes note of a call that comes now, so that it can be taken back."""
        import jax
        import jax.numpy as jnp

        if len(self._calls) % _KEPT == 0:
            self._copy = jax.tree.map(jnp.copy, self.learner)
            self._calls = []
        self._calls.append(arguments)


def _rows(outcomes: Outcomes, row: np.dtype, loop: LoopSettings) -> np.ndarray:
    """Returns the row of replay that each action makes in each state, uint32 [N, A, words]."""
    rows = np.zeros(outcomes.reward.shape, row)
    rows["observation"], rows["action"] = np.indices(rows.shape)
    clip = np.inf if loop.reward_clip is None else loop.reward_clip
    rows["reward"] = outcomes.reward.clip(-clip, clip)
    rows["discount"] = np.where(outcomes.terminated, 0, loop.discount)
    rows["next_observation"] = outcomes.next_observation
    return rows.view(np.uint32).reshape(*rows.shape, -1)


@lru_cache(maxsize=1)
def _compiled(agent: Agent, row: np.dtype) -> Callable[..., tuple[Any, Any, Any]]:
    """Returns the function that works queries out; that of the last agent is kept compiled."""
    import jax
    import jax.numpy as jnp

    from uflp.agents.batches import unpack

    @partial(jax.jit, donate_argnums=0)
    def work_out(
        learner: Any, tables: Any, known: Any, coming: Any, given: Any, here: Any
    ) -> tuple[Any, Any, Any]:
        """Acts and learns until an episode ends, or enough queries are made.

        Args:
            learner: as it is before the first query.
            tables: `_rows`, and bool [N, A], which of them end an episode.
            known: samples of the SGD steps; see `Replay.foresee`.
            coming: which of their rows are made here.
            given: int32 [K], actions that are not left to the agent, else -1.
            here: the present observation, and how many queries to make.

        Returns:
            The learner after the last query; float32 [K, A + 1], the values that each query was
            made by, and its loss; and int32 [K + 1], what is seen after each, and their number.
        """
        rows, terminated = tables

        def query(carry: Any) -> Any:
            number, _, learner, observation, made, told, seen = carry
            values = agent.predict(learner, observation[None])[0, 0]
            action = jnp.where(given[number] < 0, values.argmax(), given[number])
            new = rows[observation, action]
            made = made.at[number].set(new)
            which = coming[number][:, None]
            sample = jnp.where(which < 0, known[number], made[which[:, 0]])
            learner, loss = agent.update(learner, unpack(sample, row))
            over = terminated[observation, action]
            observation = unpack(new[None], row).next_observation[0]
            told = told.at[number].set(jnp.append(values, loss))
            seen = seen.at[number].set(observation)
            return number + 1, over, learner, observation, made, told, seen

        def goes_on(carry: Any) -> Any:
            number, over, *_ = carry
            return ~over & (number < here[1])

        most, actions = len(given), terminated.shape[1]
        made, told = jnp.zeros((most, rows.shape[2]), rows.dtype), jnp.zeros((most, actions + 1))
        start = (0, False, learner, here[0], made, told, jnp.zeros(most, here.dtype))
        number, _, learner, _, _, told, seen = jax.lax.while_loop(goes_on, query, start)
        return learner, told, jnp.append(seen, number)

    return work_out
