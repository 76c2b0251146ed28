"""Q-functions, chosen by what the observation space means.

There are two forms, which do the same: the plain one, an MLP on vectors and convolutions on images,
and one for observations that are numbered, whose first layer is a table of which a step touches few
rows.
"""

from __future__ import annotations

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from uflp import spaces
from uflp.agents.conv import make_conv
from uflp.agents.dense import make_dense
from uflp.agents.lazy_adam import EPSILON
from uflp.agents.lookup import make_lookup
from uflp.agents.q_function import Fitting, QFunction
from uflp.networks.conv import TORSO, convolutions_for
from uflp.types import UsageError


def make_q_function(
    fitting: Fitting, space: gymnasium.Space, actions: int, *, target_period: int | None
) -> QFunction:
    """Returns the Q-function that fits an observation space.

    Args:
        fitting: how it learns.
        space: of the observations.
        actions: A, how many there are.
        target_period: SGD steps between copies into the target; None never copies.
    """
    if isinstance(space, gymnasium.spaces.Discrete) and space.start == 0:
        if fitting.adam_epsilon != EPSILON:
            raise UsageError(
                f"on numbered observations adam_epsilon is {EPSILON}, not {fitting.adam_epsilon}"
            )
        return make_lookup(fitting, int(space.n), actions, target_period=target_period)
    if not isinstance(space, gymnasium.spaces.Box):
        raise UsageError(f"no network is known for the observation space {space}")
    # Bytes are pixels or codes, which are too large for a network as they are.
    largest = max(int(space.high.max()), 1) if space.dtype == np.uint8 else 1
    axis = spaces.channel_axis(space)
    if axis is None:

        def flat(observations: jax.Array) -> jax.Array:
            return observations.reshape(len(observations), -1) / largest

        width = int(np.prod(space.shape))
        return make_dense(fitting, width, actions, target_period=target_period, encode=flat)

    def images(observations: jax.Array) -> jax.Array:
        return jnp.moveaxis(observations, axis + 1, 1).astype(jnp.float32) / largest

    channels = space.shape[axis]
    height, width = (size for place, size in enumerate(space.shape) if place != axis)
    return make_conv(
        fitting,
        (channels, height, width),
        actions,
        target_period=target_period,
        encode=images,
        convolutions=TORSO if isinstance(space, spaces.Frames) else convolutions_for(height, width),
    )
