"""What the profiler saw of a rung's warps (bench/ladder/stalls.py), beside the part that the ledger calls largest."""

import functools
import json
from pathlib import Path

STALLS = Path(__file__).resolve().parents[1] / "bench" / "results" / "ladder" / "h200-stalls.json"

# What a warp waits for, by the profiler's names.
REASONS = {
    "long_scoreboard": "a global load",
    "barrier": "the barrier",
    "drain": "its stores at its end",
    "mio_throttle": "room in the queue of shared memory",
    "short_scoreboard": "shared memory",
    "lg_throttle": "room in the queue of global memory",
    "wait": "an instruction of fixed length",
    "not_selected": "its turn, as another warp was chosen",
    "math_pipe_throttle": "arithmetic units",
    "dispatch_stall": "the dispatcher",
    "branch_resolving": "a branch",
    "no_inst": "its next instruction to be fetched",
    "no_instructions": "its next instruction to be fetched",
    "gmma": "a matrix unit",
    "sleeping": "the end of its sleep",
    "membar": "a memory barrier",
    "imc_miss": "a constant to be fetched",
}


@functools.cache
def kernels():
    if not STALLS.exists():
        return {}, None
    result = json.loads(STALLS.read_text())
    return {(kernel["rung"], kernel["batch"]): kernel for kernel in result["kernels"] if not kernel["fused"]}, result["provenance"]


def agreement(part, kernel, copy):
    """Does what was measured bear out the ledger's largest part? A sentence. `copy` is how busy the rung of
    this name keeps the memory, in %."""
    dram, issue, warps = (kernel[key] for key in ("memory_busy", "issue_busy", "warps_an_sm"))
    stalls = kernel["stalls"]
    waits = stalls.get("long_scoreboard", 0) + stalls.get("drain", 0) + stalls.get("barrier", 0)
    shared = stalls.get("mio_throttle", 0) + stalls.get("short_scoreboard", 0)
    if part == "memory" and dram >= 0.9 * copy:
        return "That bears out the ledger: the memory is busy for most of the time."
    if part == "memory" and dram >= 60:
        return (f"That bears out the ledger in part: the memory is busy for most of the time, but `copy` keeps it busy "
                f"for {copy:.0f} %. Here the warps wait as well.")  # fmt: skip
    if part == "memory":
        return "The ledger calls this `memory`, but it is not the DRAM that is busy: what takes the time lies before it."
    if part == "starts" and warps < 32:
        return "That bears out the ledger: an SM could hold 64 warps, and blocks do not come fast enough to fill it."
    if part == "issue" and issue >= 50:
        return "That bears out the ledger: more than half of all issue slots are taken."
    if part == "latency" and waits >= 0.5 and dram < 80:
        return "That bears out the ledger: the warps wait, and the memory is not busy all the time."
    if part == "shared" and shared >= 0.3:
        return "That bears out the ledger: the warps wait for shared memory."
    return f"That does not bear out the ledger's largest part, `{part}`."


def of_rung(name, part):
    """Lines of the rung's page; none where it was not profiled. `part` is the ledger's largest one."""
    found, origin = kernels()
    kernel = found.get((name, 1))
    if kernel is None:
        return []
    waits = [(reason, share) for reason, share in kernel["stalls"].items() if reason != "selected"][:3]
    words = [f"for {REASONS.get(reason, reason)} in {100 * share:.0f} % (`{reason}`)" for reason, share in waits]
    top = kernel["at"][0]
    copy = found["copy", 1]["memory_busy"]
    code = next(word for word in top["instruction"].split() if not word.startswith("@"))
    return [
        "",
        f"Nsight Compute looked at its warps on {kernel['rows']} x {kernel['cols']} floats "
        f"({origin['gpu']}, {origin['date']}, commit {origin['commit']}). Where a sample was taken, the warp waited "
        f"{', '.join(words)} of them; {100 * top['share']:.0f} % were taken at one instruction, `{code}`. "
        f"{kernel['issue_busy']:.0f} % of the issue slots were taken, an SM had {kernel['warps_an_sm']:.0f} of 64 warps, and the "
        f"DRAM was busy for {kernel['memory_busy']:.0f} % of the time. {agreement(part, kernel, copy)}",
        "",
        *lines_of(kernel),
    ]  # fmt: skip


def lines_of(kernel):
    """The source lines at which most samples were taken, as a table."""
    rows = [
        f"| {100 * line['share']:.0f} | `{line['place']}` | `{line['text'].replace('|', chr(92) + '|')}` "
        f"| {', '.join(f'`{reason}`' for reason in list(line['stalls'])[:2])} |"
        for line in kernel["lines"][:3]
        if line["text"] and line["share"] >= 0.05
    ]
    return ["| % of the samples | line | what stands there | waits |", "| ---: | --- | --- | --- |", *rows] if rows else []
