"""States with rows, on their way between a worker and the driver, which writes checkpoints.

A checkpoint asks only for the rows that it lacks. So a state travels without its rows, and the rows
follow block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from uflp.distributed.rpc import Handle, result
from uflp.state import Block, Rows, State

Fetch = Callable[[str, int], Block | None]
"""Return the first block of a buffer's rows, by name, from a number on; None after the last."""


class RowNumbers(NamedTuple):
    """Numbers of rows that stayed in their process; see `Rows`."""

    name: str
    first: int
    stop: int


class BlocksInMemory:
    """Blocks that were fetched, in place of those that a buffer would yield."""

    def __init__(self, blocks: list[Block]):
        self._blocks = blocks

    def __call__(self, first: int) -> Iterator[Block]:
        """Yield the blocks that reach beyond a number."""
        return (block for block in self._blocks if block.stop > first)


def remote_state(worker: Handle, suffix: str = "") -> State:
    """Return the state of a worker. Its rows are fetched when they are asked for.

    Args:
        worker: what the state is of.
        suffix: of the rows' names, where several workers are alike.
    """

    def fetch(name: str, first: int) -> Block | None:
        block: Block | None = result(worker.block.remote(name, first))
        return block

    return with_rows(result(worker.state.remote()), fetch, suffix)


def without_rows(state: State) -> State:
    """Return a state with the numbers of its rows in place of the rows."""
    return _replaced(state, Rows, lambda rows: RowNumbers(rows.name, rows.first, rows.stop))


def with_rows(state: State, fetch: Fetch, suffix: str = "") -> State:
    """Return a state with rows that are fetched when they are asked for.

    Args:
        state: what `without_rows` returned.
        fetch: asks the worker that holds the rows.
        suffix: of the rows' names, where several workers are alike.
    """

    def rows(numbers: RowNumbers) -> Rows:
        def blocks(first: int) -> Iterator[Block]:
            while first < numbers.stop and (block := fetch(numbers.name, first)) is not None:
                yield block
                first = block.stop

        return Rows(numbers.name + suffix, numbers.first, numbers.stop, blocks)

    return _replaced(state, RowNumbers, rows)


def in_memory(state: State) -> State:
    """Return a state that holds its rows, so that it can be sent."""
    return _replaced(
        state,
        Rows,
        lambda rows: rows._replace(blocks=BlocksInMemory(list(rows.blocks(rows.first)))),
    )


def block_of(state: State, name: str, first: int) -> Block | None:
    """Return the first block of some rows in a state, from a number on."""
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
