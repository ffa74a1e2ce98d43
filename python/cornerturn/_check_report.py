"""What `check` says of a CUDA source: findings, counts by line, and what a launch left behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Place:
    """Says where, and by whom, something was done that a `Finding` is about.

    - `file`, `line`: of the source; a `line` of 0 means that it is not known
    - `thread`, `block`: who it was, as (x, y, z); None on the host
    - `action`, `bytes`: "loads", "stores", "waits", and of how many bytes
    """

    file: str
    line: int
    thread: tuple[int, ...] | None
    block: tuple[int, ...] | None
    action: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "?"


@dataclass(frozen=True)
class Finding:
    """Says one thing that is wrong. `str` is one line.

    - `kind`: "race", "out_of_bounds", "unwritten_read", "divergent_barrier", "not_freed", "exit_code",
      "too_many_wavefronts" and others
    - `severity`: "error", or "warning", which does not fail
    - `kernel`, `memory`: their names, where it is about one; `byte` in that memory
    - `message`, `count`: a sentence, and how often it was seen
    - `places`: where, as `Place`; both places of a race
    """

    kind: str
    severity: str
    kernel: str
    memory: str
    byte: int
    message: str
    count: int
    places: tuple[Place, ...]

    def __str__(self) -> str:
        where = f" in {self.memory} at byte {self.byte}" if self.memory else ""
        kernel = f" [{self.kernel}]" if self.kernel else ""
        places = ", ".join(str(place) for place in self.places)
        text = f"{self.severity}: {self.kind.replace('_', ' ')}{where}: {self.message}{kernel}"
        return f"{text} ({places})" if places else text

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True)
class LineCounts:
    """Counts what the warps of a kernel do in one line, by one kind of access.

    - `file`, `line`, `op`: "global_load", "shared_store" and so on
    - `width`: bytes of a lane; `memory`: the name of an array in shared memory
    - `requests` of warps, and the `lanes` of all of them together
    - `sectors`, `ideal_sectors` of global memory: what is moved, and the least that the bytes need
    - `wavefronts`, `ideal_wavefronts` of shared memory, likewise
    """

    file: str
    line: int
    op: str
    width: int
    memory: str
    requests: int
    lanes: int
    sectors: int
    ideal_sectors: int
    wavefronts: int
    ideal_wavefronts: int


@dataclass(frozen=True)
class KernelCounts:
    """Counts what one kernel did: how it was launched, and its accesses by line.

    - `name`, `file`, `line`, `launches`
    - `grid`, `block`, `dynamic_shared`, `static_shared` in bytes, `threads` of the last launch
    - `blocks`, and of how many of them accesses were counted: `counted_blocks`
    - `lines`: a `LineCounts` for each line and kind of access; `hints`: what would help
    """

    name: str
    file: str
    line: int
    launches: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    dynamic_shared: int
    static_shared: int
    blocks: int
    counted_blocks: int
    threads: int
    hints: tuple[str, ...]
    lines: tuple[LineCounts, ...]


@dataclass(frozen=True, repr=False)
class CheckReport:
    """Says what `check` found. `print` shows it as the command `cornerturn check` does.

    - `file`: what was checked
    - `findings`: a `Finding` for each thing that is wrong, in kernels, on the host, and over a limit
    - `failed`: is one of them an error? `ok` is its contrary. Warnings do not fail.
    - `kernels`: a `KernelCounts` for each kernel that ran
    - `exit_code`, `output`, `errors`: what the program ended with, and what it wrote to standard output
      and standard error (the first MiB)
    - `json`: all of it as the command writes it with --json
    """

    file: str
    findings: tuple[Finding, ...]
    failed: bool
    kernels: tuple[KernelCounts, ...]
    exit_code: int
    output: str
    errors: str
    json: dict[str, Any]
    _args: tuple[Any, ...] | None = field(compare=False)
    _result: Any = field(compare=False)
    _why_none: str = field(compare=False)

    @property
    def ok(self) -> bool:
        """Is there no error?"""
        return not self.failed

    @property
    def lines(self) -> tuple[LineCounts, ...]:
        """The counts of all kernels, line by line."""
        return tuple(line for kernel in self.kernels for line in kernel.lines)

    @property
    def args(self) -> tuple[Any, ...]:
        """What was passed as `args`, with its arrays as the launch left them, as arrays of NumPy. Raises
        RuntimeError where the launch ended with an error, which leaves none, and where a main was run."""
        if self._args is None:
            raise RuntimeError(f"args: {self._why_none}")
        return self._args

    @property
    def result(self) -> Any:
        """What the function that `call` names returned: an array of NumPy, a number, a tuple of these, or
        None. Raises RuntimeError as `args` does."""
        if self._args is None:
            raise RuntimeError(f"result: {self._why_none}")
        return self._result

    def __str__(self) -> str:
        return str(self.json["text"])

    def __repr__(self) -> str:
        return f"<CheckReport {self.json['text'].strip().splitlines()[-1]}>"


def place_of(json: dict[str, Any]) -> Place:
    thread, block = (tuple(json[name]) if name in json else None for name in ("thread", "block"))
    return Place(json.get("file", ""), json.get("line", 0), thread, block, json.get("action", ""), json.get("bytes", 0))


def finding_of(json: dict[str, Any]) -> Finding:
    return Finding(
        json["kind"],
        json["severity"],
        json.get("kernel", ""),
        json.get("memory", ""),
        json.get("byte", 0),
        json["message"],
        json["count"],
        tuple(place_of(place) for place in json["places"]),
    )


def line_of(json: dict[str, Any]) -> LineCounts:
    sectors, wavefronts = json.get("sectors", {}), json.get("wavefronts", {})
    return LineCounts(
        json["file"],
        json["line"],
        json["op"],
        json["width"],
        json.get("memory", ""),
        json["requests"],
        json["lanes"],
        sectors.get("actual", 0),
        sectors.get("ideal", 0),
        wavefronts.get("actual", 0),
        wavefronts.get("ideal", 0),
    )


def kernel_of(json: dict[str, Any]) -> KernelCounts:
    return KernelCounts(
        json["name"],
        json["file"],
        json["line"],
        json["launches"],
        tuple(json["grid"]),
        tuple(json["block"]),
        json["dynamic_shared"],
        json["static_shared"],
        json["blocks"],
        json["counted_blocks"],
        json["threads"],
        tuple(json["hints"]),
        tuple(line_of(line) for line in json["lines"]),
    )


def report_of(json: dict[str, Any], args: tuple[Any, ...] | None, result: Any) -> CheckReport:
    """`args` and `result` are None where a launch left no arrays, or where there was none."""
    findings = tuple(finding_of(one) for name in ("findings", "host", "over") for one in json.get(name, []))
    first = next((one for one in findings if one.severity == "error"), None)
    was_launched = "saved" in json
    return CheckReport(
        json["file"],
        findings,
        json["failed"],
        tuple(kernel_of(kernel) for kernel in json["kernels"]),
        json["exit_code"],
        json["output"],
        json["errors"],
        json,
        args,
        result,
        f"the launch left no arrays: {first}" if was_launched else "check() was called without kernel= and call=",
    )
