"""Workers in one process, with all that passes between them pickled as if they were not."""

from __future__ import annotations

import pickle
from typing import Any


class InProcessCaller:
    """A worker, called as if it were in another process.

    Attributes:
        worker: what is called.
        calls: names of the methods that were called.
        fetched_by: the actors that fetched snapshots, in order.
        answer_bytes: size of the answer to each call.
    """

    def __init__(self, worker: Any):
        self.worker = worker
        self.calls: list[str] = []
        self.fetched_by: list[int] = []
        self.answer_bytes: list[int] = []

    def call(self, method: str, *arguments: Any) -> Any:
        sent = pickle.loads(pickle.dumps(arguments))
        answer = pickle.dumps(getattr(self.worker, method)(*sent))
        self.calls.append(method)
        if method == "fetch":
            self.fetched_by.append(arguments[-1])
        self.answer_bytes.append(len(answer))
        return pickle.loads(answer)

    def send(self, method: str, *arguments: Any) -> None:
        self.call(method, *arguments)

    def insert(self, parcel: Any) -> None:
        self.call("insert", parcel)

    def wait(self) -> None:
        pass
