#!/usr/bin/env python3
"""Counts the instructions and registers of every rung in its compiled code, and what a thread runs of it.

usage: scripts/compiled_rungs.py [--check]

nvcc compiles the rungs as the ladder launches them (src/workshop/cuda/kernel_rungs.cu) for each compute
capability of `sms` in src/workshop/ladder/explain.hpp. The figures go into src/workshop/ladder/compiled_table.hpp,
which the command line and the pages read. What a thread runs is found by compiled_paths.py: it makes the
accesses that `cornerturn ladder` counts (build/release, or the program named by CORNERTURN). The registers of CuTe's rungs are the ones that the driver reported when they were measured (bench/results/ladder/h200.json). --check changes nothing and fails when that file
is not what would be written.
"""

import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from compiled_paths import disassembled, nvdisasm

ROOT = Path(__file__).resolve().parents[1]
RUNGS = ROOT / "src" / "workshop" / "rungs"
TABLE = ROOT / "src" / "workshop" / "ladder" / "compiled_table.hpp"
MEASURED = ROOT / "bench" / "results" / "ladder" / "h200.json"
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
PROGRAM = os.environ.get("CORNERTURN", ROOT / "build" / "release" / "bin" / "cornerturn")
ARCHITECTURES = ("sm_90a", "sm_89")  # those of `sms`, in its order
BYTES = {"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8}
DTYPES = {1: "u8", 2: "u16", 4: "f32", 8: "f64"}
INSTRUCTION_BYTES = 16  # of every instruction, since compute capability 7.0
KERNEL = re.compile(r"rung_kernel<(.*), (unsigned \w+)>\(")
STACK = re.compile(r"args_kernel<cornerturn::ladder::(\w+), cornerturn::ladder::\w+<(unsigned \w+), \2>")
USED = re.compile(r"Function properties for (\w+)\n.*\n.*Used (\d+) registers")

HEAD = """// Made by scripts/compiled_rungs.py, which says where the figures are from.
#pragma once

#include "workshop/ladder/compiled.hpp"

namespace cornerturn::ladder {

inline constexpr CompiledRung compiled_rungs[] = {
"""
STACKS = """};

/// As they move stacks of matrices: other instances, with other arguments.
inline constexpr CompiledRung compiled_stacks[] = {
"""
TAIL = """};

}  // namespace cornerturn::ladder
"""


def section_sizes(elf):
    """name -> bytes of each section of an ELF file of 64 bits."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    text = headers[names][4]
    name_of = lambda at: elf[text + at : elf.index(b"\0", text + at)].decode()
    return {name_of(header[0]): header[5] for header in headers}


def rung_types():
    """The rungs' types in the order of the registry, as a demangler writes them."""
    text = (RUNGS / "registry.hpp").read_text()
    listed = re.search(r"using Rungs = std::tuple<(.*?)>;", text, re.S)[1].replace("//", "")
    orders = re.search(r"enum class Order \{(.*?)\}", (RUNGS / "block_order.hpp").read_text())[1]
    orders = orders.replace(",", "").split()
    number = lambda found: f"(Order){orders.index(found[1])}"
    return [re.sub(r"Order::(\w+)", number, name.strip()) for name in listed.split(",")]


def rung_names():
    """The rungs' names in the same order: each struct's `name`, or what its template says."""
    text = "".join(path.read_text() for path in sorted(RUNGS.glob("*.hpp")))
    for kind in rung_types():
        start = text.index(f"struct {re.match(r'[A-Za-z]+', kind)[0]} ") if "<" not in kind else -1
        if start >= 0:
            yield re.search(r'name = "(\w+)"', text[start:])[1]
        elif kind.startswith("NaiveRead"):
            side = kind[10:-1]
            yield "naive_read" if side == "16" else f"naive_read_{side}"
        else:
            body = text[text.index("struct BlockOrder {") :]
            yield re.findall(r'"(block_order_\w+)"', body)[int(kind[-2])]


def compiled(architecture):
    """(type of the rung, bytes of an element, of stacks) -> (instructions, registers, Code)."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "rungs.cubin"
        words = ["-std=c++20", f"-arch={architecture}", "--cubin", "-Xptxas", "-v", "-o", cubin]
        words += [f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
        done = subprocess.run(
            [NVCC, *words, ROOT / "src" / "workshop" / "cuda" / "kernel_rungs.cu"],
            check=True, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        sizes = section_sizes(cubin.read_bytes())
        codes = disassembled(cubin)
    registers = dict(USED.findall(done.stderr))
    readable = subprocess.run(
        ["c++filt"], input="\n".join(registers), check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()
    found = {}
    for mangled, name in zip(registers, readable):
        if kernel := KERNEL.search(name) or STACK.search(name):
            kind = kernel[1].replace("cornerturn::ladder::", "")
            key = kind, BYTES[kernel[2]], kernel.re is STACK
            size = sizes[f".text.{mangled}"] // INSTRUCTION_BYTES
            found[key] = (size, int(registers[mangled]), codes[mangled])
    return found


def accesses_of_a_thread():
    """(rung, bytes of an element) -> {(kind, bytes a lane): accesses} of a thread, in whole tiles."""
    found = {}
    for size, dtype in DTYPES.items():
        words = [PROGRAM, "ladder", "--no-gpu", "--json", "--shape", "512,512", "--dtype", dtype]
        report = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
        for rung in report["rungs"]:
            if rung["family"] != "cuda" or "predicted" not in rung:
                continue
            launch = rung["predicted"]["launch"]
            warps = math.prod(launch["grid"]) * math.prod(launch["block"]) // 32
            counts = found.setdefault((rung["name"], size), {})
            for leg in rung["predicted"]["legs"]:
                kind = leg["leg"], leg["bytes_a_lane"]
                counts[kind] = counts.get(kind, 0) + leg["requests"] // warps
    return found


def single_elements(accesses, size):
    """The accesses of a thread that moves the same elements one by one."""
    counts = {}
    for (kind, width), count in accesses.items():
        counts[kind, size] = counts.get((kind, size), 0) + count * width // size
    return counts


def path_text(code, accesses, loops=False):
    """A stack's path has in the end what one more matrix takes, where the kernel has a loop over matrices."""
    path = code.shortest(accesses)
    if path is None:
        return "{}"
    twice = code.shortest({kind: 2 * count for kind, count in accesses.items()}) if loops else None
    turn = "" if twice is None else f", {len(twice) - len(path)}"
    return f"{{{len(path)}, {sum(accesses.values())}, {code.trips(path)}{turn}}}"


def cute_registers():
    """Name -> registers a thread, as the driver reported them."""
    runs = json.loads(MEASURED.read_text())["runs"]
    return {
        rung["name"]: rung["measured"]["occupancy"]["registers"]
        for run in runs for rung in run["rungs"]
        if rung["family"] == "cute" and "measured" in rung
    }  # fmt: skip


def table():
    """One line a rung and size of element."""
    by_architecture = [compiled(architecture) for architecture in ARCHITECTURES]
    accesses = accesses_of_a_thread()

    def rows(stacks):
        for kind, name in zip(rung_types(), rung_names()):
            for size in BYTES.values():
                key = kind, size, stacks
                if key in by_architecture[0]:
                    instructions, _, code = by_architecture[0][key]
                    registers = ", ".join(str(found[key][1]) for found in by_architecture)
                    wide = accesses[name, size]
                    paths = [path_text(code, wide, stacks), path_text(code, single_elements(wide, size), stacks)]
                    yield f'    {{"{name}", {size}, {instructions}, {{{registers}}}, {", ".join(paths)}}},'

    lines = [*HEAD.splitlines(), *rows(stacks=False)]
    for name, registers in cute_registers().items():
        lines.append(f'    {{"{name}", 4, 0, {{{registers}, {registers}}}}},')
    return "\n".join([*lines, *STACKS.splitlines(), *rows(stacks=True), *TAIL.splitlines()]) + "\n"


def main():
    if nvdisasm() is None:
        sys.exit("nvdisasm is needed: it comes with the CUDA toolkit and with Triton")
    text = table()
    if "--check" in sys.argv[1:]:
        if text != TABLE.read_text():
            sys.exit(f"not current: {TABLE.relative_to(ROOT)}; run scripts/compiled_rungs.py")
    else:
        TABLE.write_text(text)


if __name__ == "__main__":
    main()
