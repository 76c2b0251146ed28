"""The learner: SGD steps on what the replay hands out."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import numpy as np

from uflp import spaces
from uflp.agents.compute import configure
from uflp.distributed.messages import Learned, Lesson
from uflp.distributed.parameters import initial_learner, published, read_by_predict
from uflp.distributed.replay import Sampler
from uflp.networks.parameters import loaded_tree, saved_tree
from uflp.randomness import Randomness
from uflp.replay.transitions import layout_of_row
from uflp.state import State, number
from uflp.training.agent_runner import compiled
from uflp.training.counters import BadNumberError, require_finite
from uflp.training.settings import RunSettings

_AHEAD = 2
"""Samples that are ordered before they are needed."""


class Learner:
    """A run's learner, in a process of its own."""

    def __init__(self, settings: RunSettings, replay: Sampler):
        configure()
        simulator = settings.simulator.make(settings.seed)
        space = simulator.observation_space
        actions = spaces.actions(simulator.action_space)
        shape, self._dtype = spaces.layout(space)
        self._nothing = np.zeros(shape, self._dtype)
        self._batch = settings.loop.learning_batch
        row = layout_of_row(space, simulator.mask_size)
        agent, self._learn_and_look = compiled(settings.learner, space, actions, row)
        self._learner = initial_learner(agent, settings.seed)
        self._read = read_by_predict(agent, self._learner, space)
        self._replay = replay
        self._randomness = Randomness(settings.seed)
        self._steps = 0

    def learn(self, lesson: Lesson) -> tuple[Learned, list[np.ndarray | None] | None]:
        """Takes SGD steps; returns what came of them, and the parameters if they are wanted."""
        if self._steps != lesson.taken:
            return Learned([], None, True, os.getpid()), None
        observation = self._nothing
        if lesson.observation is not None:
            observation = np.asarray(lesson.observation, self._dtype)
        losses: list[float] = []
        values = None
        orders: deque[Any] = deque()
        ahead = range(self._steps, self._steps + lesson.steps)
        while len(losses) < lesson.steps:
            while len(orders) <= _AHEAD and len(losses) + len(orders) < lesson.steps:
                orders.append(self._order(ahead[len(losses) + len(orders)]))
            sample = self._replay.collect(orders.popleft())
            if sample is None:
                break
            self._learner, loss, values = self._learn_and_look(self._learner, sample, observation)
            losses.append(loss)
            require_finite("the loss", loss, lesson.queries)
            self._steps += 1
        looked = None
        if values is not None and lesson.observation is not None:
            looked = values
        parameters = self._parameters(lesson.queries) if lesson.publish else None
        size = sum(array.nbytes for array in parameters or () if array is not None)
        return Learned(losses, looked, False, os.getpid(), size), parameters

    def state(self) -> State:
        """Returns the learner, and how many steps it has taken."""
        return {"steps": self._steps, "learner": saved_tree(self._learner)}

    def load(self, state: State) -> None:
        """Takes the state of an equal learner."""
        self._steps = number(state, "steps")
        self._learner = loaded_tree(state["learner"], self._learner)

    def _order(self, step: int) -> Any:
        uniforms = self._randomness.uniforms("replay", step, self._batch)
        return self._replay.order(step, uniforms)

    def _parameters(self, queries: int) -> list[np.ndarray | None]:
        arrays = published(self._learner, self._read)
        if not all(array is None or np.isfinite(array).all() for array in arrays):
            raise BadNumberError(f"a parameter was not finite at query {queries}")
        return arrays
