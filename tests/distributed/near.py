"""Parts in one process, with all that passes between them pickled as if they were not."""

from __future__ import annotations

import pickle
from typing import Any


class Near:
    """Another part, called as if it were elsewhere.

    Attributes:
        calls: names of the methods that were called.
        asked: those names, each with the last argument.
        moved: bytes of the answer to each of them.
    """

    def __init__(self, part: Any):
        self.part = part
        self.calls: list[str] = []
        self.asked: list[tuple[str, Any]] = []
        self.moved: list[int] = []

    def ask(self, method: str, *arguments: Any) -> Any:
        answer = pickle.dumps(getattr(self.part, method)(*pickle.loads(pickle.dumps(arguments))))
        self.calls.append(method)
        self.asked.append((method, arguments[-1] if method == "fetch" else None))
        self.moved.append(len(answer))
        return pickle.loads(answer)

    def tell(self, method: str, *arguments: Any) -> None:
        self.ask(method, *arguments)

    def settle(self) -> None:
        pass
