"""Parameters as a checkpoint keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np

from uflp.state import State, StateError, array, finite


def saved_tree(tree: Any) -> State:
    """Return a pytree, such as a learner, as the list of its arrays."""
    import jax

    return {"leaves": [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]}


def loaded_tree(state: State, like: Any) -> Any:
    """Return the pytree that a state was made of, given another one of the same structure.

    Raises:
        StateError: if it has another structure, or a number in it is not finite.
    """
    import jax

    leaves, tree = jax.tree.flatten(like)
    if len(leaves) != len(state["leaves"]):
        raise StateError(
            f"there are {len(state['leaves'])} arrays of parameters, not {len(leaves)}"
        )
    pairs = zip(state["leaves"], leaves, strict=True)
    what = "the network has other layers or inputs: an array of its parameters"
    # Copied by JAX: an update uses up the memory of what it is given.
    return jax.tree.unflatten(
        tree,
        [
            jax.numpy.array(finite(array(leaf, np.asarray(own), what), "a parameter"))
            for leaf, own in pairs
        ],
    )
