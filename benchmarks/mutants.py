"""Change the code in random places and see whether a test fails: `results/mutants.csv`.

The changes are those of mutmut's operators, in planning, agents, uncertainty and replay. Left out
are annotations, decorators, docstrings and what is raised, so that no message is judged; a
comment cannot leave anything out. `SIZE` of them are drawn with `SEED`, and run in the order of
the draw, so that the first hundred are a sample too. Each runs against the tests of its room that
reach the changed line until one fails: first those of a file that is named after the changed one,
and the quickest first among these and among the others.

Run as `make mutants`, or `python -m benchmarks.mutants [--survivors] [--first K] [--quick S]`; it
goes on where an interrupted one stopped. With `--quick S`, each has S seconds of tests, which
finds most of what tests find. With `--survivors`, those that survived run again, against all tests
of their room and with the tests as they are now; but not those of which
`results/mutants-explained.json` says why no test can see them. `results/mutants.md` is written
from the CSV and the reasons.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

SEED, SIZE = 20, 500
ROOT = Path(__file__).parent.parent
# Tests elsewhere belong to a room if they are about what it does.
ROOMS = {
    "planning": (
        "tests/planning",
        "tests/test_masks.py",
        "tests/test_single_file.py",
        "tests/wrappers",
        "tests/training/test_failures_and_ends.py",
        "tests/training/test_real_actions.py",
        "tests/distributed/test_shared_history.py",
    ),
    "agents": (
        "tests/agents",
        "tests/test_masks.py",
        "tests/test_spaces.py",
        "tests/training/test_real_actions.py",
    ),
    "uncertainty": (
        "tests/uncertainty",
        "tests/planning/test_search.py",
        "tests/planning/test_rules.py",
        "tests/test_spaces.py",
        "tests/training/test_real_actions.py",
    ),
    "replay": ("tests/replay", "tests/test_masks.py", "tests/test_spaces.py"),
}
# Imported once, before the fork of every mutant. Nothing of ours is, and nothing is computed.
WARM = (
    "ale_py",
    "bsuite",
    "flax.linen",
    "gymnasium",
    "hypothesis",
    "jax.numpy",
    "matplotlib.pyplot",
    "msgpack",
    "numpy",
    "optax",
    "pytest",
    "rich.console",
    "rlax",
    "scipy.stats",
    "threadpoolctl",
    "typer",
)
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
# A test is given up after its usual time ten times over, and this many seconds.
GRACE = 20


@dataclass(frozen=True)
class Mutant:
    """One change of the code, and what became of it."""

    number: int
    room: str
    path: str
    line: int
    before: str
    after: str
    outcome: str = ""
    seconds: float = 0.0
    by: str = ""

    @property
    def change(self) -> str:
        """The change in one line, which is another one as soon as the code has changed."""
        before, after = (" ".join(code.split()) for code in (self.before, self.after))
        return f"{self.path.removeprefix('src/uflp/')} {self.line}: {before} -> {after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--survivors", action="store_true", help="run those that survived again")
    parser.add_argument("--first", type=int, default=SIZE, help="how many of the sample")
    parser.add_argument("--quick", type=float, default=1e9, help="seconds of tests for each")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "mutants.csv")
    options = parser.parse_args()
    prepare_tree()
    drawn, code = sample()
    reached = reach()
    for name in WARM:
        importlib.import_module(name)
    same = {one: row for row in read(options.out) for one in [_same(row)]}
    done = {one.number: same[_same(one)] for one, _ in drawn if _same(one) in same}
    explained = options.out.with_name("mutants-explained.json")
    reasons = json.loads(explained.read_text()) if explained.exists() else {}
    for mutant, text in drawn[: options.first]:
        before = done.get(mutant.number)
        survived = before is not None and before.outcome == "survived"
        again = survived and mutant.change not in reasons
        if not again if options.survivors else before is not None:
            continue
        lines = reached[mutant.room]["lines"].get(f"{mutant.path}:{mutant.line}")
        everything = options.survivors or lines is None
        tests = reached[mutant.room]["seconds"] if everything else lines
        tests = set(tests) - set(reached[mutant.room]["failing"])
        files = _files(mutant.room) if everything else {test.split("::")[0] for test in tests}
        seconds = reached[mutant.room]["seconds"]
        tests = within(options.quick, in_order(tests, mutant, seconds), seconds)
        done[mutant.number] = run(mutant, text, files, tests, seconds)
        write(options.out, done.values())
        print(*asdict(done[mutant.number]).values(), flush=True)
    conclude(options.out, code, reasons)


def _same(mutant: Mutant) -> Mutant:
    """Return the change alone, to be found again in a file of outcomes."""
    return replace(mutant, outcome="", seconds=0.0, by="")


# Which changes there are.


def sample() -> tuple[list[tuple[Mutant, str]], int]:
    """Return the sample, each with the changed code of its file, and how many there are in all."""
    files = [(room, path) for room in ROOMS for path in sorted(_code(room).rglob("*.py"))]
    parsed = [MetadataWrapper(cst.parse_module(path.read_text())) for _, path in files]
    every = [(i, change) for i, one in enumerate(parsed) for change in changes(one)]
    chosen = random.Random(SEED).sample(every, SIZE)
    drawn = []
    for number, (i, (line, old, new)) in enumerate(chosen):
        room, path = files[i]
        module = parsed[i].module
        before, after = (module.code_for_node(node).strip() for node in (old, new))
        name = path.relative_to(TREE).as_posix()
        mutant = Mutant(number, room, name, line, before, after)
        drawn.append((mutant, cst.ensure_type(module.deep_replace(old, new), cst.Module).code))
    return drawn, len(every)


def _code(room: str) -> Path:
    return TREE / "src" / "uflp" / room


def changes(module: MetadataWrapper) -> list[tuple[int, cst.CSTNode, cst.CSTNode]]:
    """Return every change of a file: the line, the node as it is, and what it becomes."""
    visitor = _Changes()
    module.visit(visitor)
    return visitor.changes


class _Changes(cst.CSTVisitor):
    """Collect what mutmut's operators make of every node but those that are left out."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[tuple[int, cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if m.matches(node, _LEFT_OUT):
            return False
        position = self.get_metadata(PositionProvider, node, None)
        for kind, operator in mutation_operators:
            if position and isinstance(node, kind):
                line = position.start.line
                self.changes += [(line, node, new) for new in operator(node)]
        return True


# A name of a type, given to it at the top of a file.
_ALIAS = re.compile("_?[A-Z]([a-z][A-Za-z]*)?")


_LEFT_OUT = (
    m.Annotation()
    | m.Decorator()
    | m.Raise()
    | m.Expr(m.SimpleString() | m.ConcatenatedString())
    | m.Assign(targets=[m.AssignTarget(m.Name(m.MatchRegex(_ALIAS)))])
    | m.Assign(targets=[m.AssignTarget(m.Name("__all__"))])
    | m.Call(func=m.Name("cast") | m.Name("TypeVar"))
)


# Which tests reach which lines.


def prepare_tree() -> None:
    """Copy what git knows of the checkout, so that it may be changed."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        target = TREE / name
        if (ROOT / name).is_file():
            if target.exists() and target.read_bytes() == (ROOT / name).read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
            _forget_compiled(target)


def reach() -> dict[str, dict]:
    """Return for every room the seconds of its tests, and for every line the tests that reach it.

    Tests that fail while they are measured are left out. Tests that came later are not in there,
    which is why survivors run against all.
    """
    found = {}
    for room in ROOMS:
        path = WORK / f"{room}.json"
        if not path.exists():
            in_child(lambda room=room, path=path: _measure(room, path))
        found[room] = json.loads(path.read_text())
    return found


def _measure(room: str, path: Path) -> int:
    """Run the tests of a room and write which lines each of them reaches."""
    import coverage
    import pytest

    measuring = coverage.Coverage(data_file=None, include=[f"{TREE}/src/uflp/{room}/*"])
    seconds: dict[str, float] = defaultdict(float)
    failing: set[str] = set()

    class Watch:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item):
            import jax

            jax.clear_caches()  # else only the first test to trace a function is seen in it
            measuring.switch_context(item.nodeid)
            return (yield)

        def pytest_runtest_logreport(self, report):
            seconds[report.nodeid] += report.duration
            if report.failed:
                failing.add(report.nodeid)

    measuring.start()
    _pytest(ROOMS[room], Watch())
    measuring.stop()
    data = measuring.get_data()
    lines = {
        f"{Path(file).relative_to(TREE)}:{line}": [test for test in tests if test]
        for file in data.measured_files()
        for line, tests in data.contexts_by_lineno(file).items()
        if "" not in tests  # what runs while it is imported is everybody's
    }
    path.write_text(json.dumps({"seconds": seconds, "lines": lines, "failing": sorted(failing)}))
    return 0


def in_order(tests: Iterable[str], mutant: Mutant, seconds: dict[str, float]) -> list[str]:
    """Return tests in the order in which they run: those of the changed file, the quickest."""
    stem = Path(mutant.path).stem

    def place(test: str) -> tuple[bool, float]:
        return stem not in Path(test.split("::")[0]).stem, seconds.get(test, 0.0)

    return sorted(tests, key=place)


def within(limit: float, tests: list[str], seconds: dict[str, float]) -> list[str]:
    """Return the first tests, as many as fit into some seconds, and at least one."""
    total = itertools.accumulate(seconds.get(test, 0.0) for test in tests)
    return [test for test, sum_ in zip(tests, total, strict=True) if sum_ <= limit] or tests[:1]


# What becomes of one.


def run(
    mutant: Mutant, code: str, files: set[str], tests: list[str], seconds: dict[str, float]
) -> Mutant:
    """Return a mutant with what became of it, run against new tests of files, and then others."""
    path = TREE / mutant.path
    original = path.read_text()
    began = time.monotonic()
    report = WORK / "failed"
    report.unlink(missing_ok=True)
    try:
        path.write_text(code)
        _forget_compiled(path)
        status = in_child(lambda: _test(files, tests, seconds, report))
    finally:
        path.write_text(original)
        _forget_compiled(path)
    by = report.read_text() if report.exists() else ""
    outcome = "killed"
    if status in (0, pytest_no_tests()):
        outcome, by = "survived", ""
    elif status == -signal.SIGALRM:
        outcome = "timeout"
    return replace(mutant, outcome=outcome, seconds=round(time.monotonic() - began, 1), by=by)


def pytest_no_tests() -> int:
    import pytest

    return int(pytest.ExitCode.NO_TESTS_COLLECTED)


def _forget_compiled(path: Path) -> None:
    # A compiled file is taken for that of another text of the same size and second.
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _test(files: set[str], tests: list[str], seconds: dict[str, float], failed: Path) -> int:
    """Run tests that are new, and then these in their order, until one fails."""
    import pytest

    order = {test: place for place, test in enumerate(tests)}

    class Select:
        def pytest_collection_modifyitems(self, items):
            chosen = [one for one in items if one.nodeid in order or one.nodeid not in seconds]
            items[:] = sorted(chosen, key=lambda one: order.get(one.nodeid, -1))

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item):
            # Without a handler the alarm ends the process, even where it never comes back.
            failed.write_text(item.nodeid)
            signal.setitimer(signal.ITIMER_REAL, 10 * seconds.get(item.nodeid, 1) + GRACE)
            return (yield)

        def pytest_sessionfinish(self):
            signal.setitimer(signal.ITIMER_REAL, 0)

    signal.setitimer(signal.ITIMER_REAL, 120)  # for the imports
    return _pytest(["-x", *sorted(files)], Select())


def _files(room: str) -> set[str]:
    found = set()
    for name in ROOMS[room]:
        path = TREE / name
        found |= {path, *path.rglob("test_*.py")} if path.suffix != ".py" else {path}
    return {path.relative_to(TREE).as_posix() for path in found if path.suffix == ".py"}


def _pytest(names: Sequence[str], plugin: object) -> int:
    import pytest

    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
    return int(pytest.main([*options, f"--rootdir={TREE}", *names], plugins=[plugin]))


def in_child(work) -> int:
    """Return the status with which the work ended in a process of its own, in the copy."""
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            os.setpgid(0, 0)
            os.chdir(TREE)
            os.environ["PYTHONPATH"] = str(TREE / "src")
            sys.path[:0] = [str(TREE / "src")]
            log = os.open(WORK / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            status = work()
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # whatever its tests had started
    return os.waitstatus_to_exitcode(status)


# What is written down.


def read(path: Path) -> list[Mutant]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Mutant(**{**row, **{key: _TYPES[key](row[key]) for key in _TYPES}})
            for row in csv.DictReader(file)
        ]


_TYPES = {"number": int, "line": int, "seconds": float}


def write(path: Path, mutants) -> None:
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Mutant)])
        for mutant in sorted(mutants, key=lambda one: one.number):
            writer.writerow(asdict(mutant).values())
    part.replace(path)


def conclude(path: Path, code: int, explained: dict[str, str]) -> None:
    """Write the page beside the CSV, and how both were made.

    Args:
        path: of the CSV.
        code: how many changes the sample was drawn from.
        explained: why no test can see a survivor, by its change.
    """
    from uflp.report.provenance import record

    path.with_suffix(".md").write_text(page(read(path), code, explained))
    record(path, "python -m benchmarks.mutants")


def page(mutants: Sequence[Mutant], code: int, explained: dict[str, str]) -> str:
    """Return the page: how many were killed, room by room, and every survivor with the reason."""
    rows = []
    for room in (*ROOMS, "all"):
        of = Counter(one.outcome for one in mutants if room in (one.room, "all"))
        total, killed = of.total(), of["killed"] + of["timeout"]
        share = f"{100 * killed / total:.1f} %" if total else ""
        rows.append(
            f"| {room} | {total} | {killed} | {of['timeout']} | {of['survived']} | {share} |"
        )
    survivors = [one for one in mutants if one.outcome == "survived"]
    listed = [
        f"| {one.number} | `{one.path.removeprefix('src/uflp/')}` {one.line} | "
        f"{_cell(one.before)} | {_cell(one.after)} | "
        f"{explained.get(one.change, 'not explained')} |"
        for one in survivors
    ]
    return PAGE.format(
        size=SIZE,
        run=len(mutants),
        code=code,
        seed=SEED,
        rows="\n".join(rows),
        survivors="\n".join(listed) or "| | none | | | |",
    )


def _cell(code: str) -> str:
    text = " ".join(code.split())
    text = text if len(text) <= 90 else f"{text[:60]} … {text[-28:]}"
    return "`` " + text.replace("|", "\\|") + " ``"


PAGE = """# Mutants

`make mutants` changes the code of planning, agents, uncertainty and replay in one place at a time
and runs the tests of that room until one fails. The changes are those of mutmut's operators,
{code:,} in all. Annotations, decorators, docstrings and what is raised are left out; no comment can
leave anything out. {size} were drawn with seed {seed}, in random order, and {run} of them were run
([every one](mutants.csv)). The first pass gives each 15 seconds of tests that reach its line. Those
that survive it meet all tests of their room, unless it is explained below why no test can see them.

| room | run | killed | of these by time | survived | killed |
|---|---|---|---|---|---|
{rows}

## Survivors

| number | where | code | changed to | why no test fails |
|---|---|---|---|---|
{survivors}
"""


if __name__ == "__main__":
    main()
