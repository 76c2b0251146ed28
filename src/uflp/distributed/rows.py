"""States with rows, between a part's process and the one that writes checkpoints.

A checkpoint asks only for the rows that it lacks, so a state travels without them, and they follow
block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from uflp.distributed.calls import get
from uflp.state import Block, Rows, State

Fetch = Callable[[str, int], Block | None]
"""Returns the first block of a buffer's rows, by name, from a number on; None after the last."""


class Numbers(NamedTuple):
    """Rows that stayed where they are; see `Rows`."""

    name: str
    first: int
    stop: int


class Held:
    """Blocks in memory, in the place of those that a buffer would yield."""

    def __init__(self, blocks: list[Block]):
        self._blocks = blocks

    def __call__(self, first: int) -> Iterator[Block]:
        """Yields the blocks that reach beyond a number."""
        return (block for block in self._blocks if block.stop > first)


def without_rows(state: State) -> State:
    """Returns a state with only the numbers of its rows."""
    return _replaced(state, Rows, lambda rows: Numbers(rows.name, rows.first, rows.stop))


def with_rows(state: State, fetch: Fetch, suffix: str = "") -> State:
    """Returns such a state with rows that are fetched when they are asked for.

    Args:
        state: what `without_rows` returned.
        fetch: asks the part that the rows are with.
        suffix: of the rows' names, for parts of which there are several.
    """

    def rows(numbers: Numbers) -> Rows:
        def blocks(first: int) -> Iterator[Block]:
            while first < numbers.stop and (block := fetch(numbers.name, first)) is not None:
                yield block
                first = block.stop

        return Rows(numbers.name + suffix, numbers.first, numbers.stop, blocks)

    return _replaced(state, Numbers, rows)


def held(state: State) -> State:
    """Returns a state that holds its rows, and may be sent."""
    return _replaced(
        state, Rows, lambda rows: rows._replace(blocks=Held(list(rows.blocks(rows.first))))
    )


def block_of(state: State, name: str, first: int) -> Block | None:
    """Returns the first block of some rows in a state."""
    for rows in state.values():
        if isinstance(rows, Rows) and rows.name == name:
            return next(iter(rows.blocks(first)), None)
    raise KeyError(name)


def _replaced(value: Any, kind: type, by: Callable[[Any], Any]) -> Any:
    if isinstance(value, kind):
        return by(value)
    if isinstance(value, dict):
        return {key: _replaced(item, kind, by) for key, item in value.items()}
    if type(value) is list:
        return [_replaced(item, kind, by) for item in value]
    return value


def state_of(part: Any, suffix: str = "") -> State:
    """Returns the state of a part whose rows follow when they are asked for."""

    def fetch(name: str, first: int) -> Block | None:
        block: Block | None = get(part.block.remote(name, first))
        return block

    return with_rows(get(part.state.remote()), fetch, suffix)
