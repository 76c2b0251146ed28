from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fabricated import MakeRun, write_run


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Returns `write_run` with paths below the test's own `runs` folder."""

    def make(name: str, returns: Sequence[float], **options: Any) -> Path:
        return write_run(tmp_path / "runs" / name, returns, **options)

    return make
