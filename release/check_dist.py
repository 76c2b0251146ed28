"""Try a wheel and a source distribution, each in a fresh environment without extras.

`python -m release.check_dist FOLDER` looks for one of each; `make dist` runs it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from release.environments import PINNED, environment, smoke


def main(folder: Path) -> None:
    """Install each, and run the smoke test with it."""
    for pattern in ("*.whl", "*.tar.gz"):
        (file,) = folder.glob(pattern)
        print(f"{file.name}:", flush=True)
        with tempfile.TemporaryDirectory(prefix="uflp-dist-") as below:
            python = environment(Path(below) / "env", sys.executable, [str(file.resolve())], PINNED)
            smoke(python, Path(below))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
