#!/usr/bin/env python3
"""Counts the instructions and registers of every rung in its compiled code.

usage: scripts/compiled_rungs.py [--check]

nvcc compiles the rungs as the ladder launches them (src/workshop/cuda/kernel_rungs.cu) for each compute
capability of `sms` in src/workshop/ladder/explain.hpp. The figures go into src/workshop/ladder/compiled_table.hpp,
which the command line and the pages read. Those of CuTe's rungs are the ones that the driver reported
when they were measured (bench/results/ladder/h200.json). --check changes nothing and fails when that file
is not what would be written.
"""

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNGS = ROOT / "src" / "workshop" / "rungs"
TABLE = ROOT / "src" / "workshop" / "ladder" / "compiled_table.hpp"
MEASURED = ROOT / "bench" / "results" / "ladder" / "h200.json"
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
ARCHITECTURES = ("sm_90a", "sm_89")  # those of `sms`, in its order
BYTES = {"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8}
INSTRUCTION_BYTES = 16  # of every instruction, since compute capability 7.0
KERNEL = re.compile(r"rung_kernel<(.*), (unsigned \w+)>\(")
USED = re.compile(r"Function properties for (\w+)\n.*\n.*Used (\d+) registers")

HEAD = """// Made by scripts/compiled_rungs.py, which says where the figures are from.
#pragma once

#include "workshop/ladder/compiled.hpp"

namespace cornerturn::ladder {

inline constexpr CompiledRung compiled_rungs[] = {
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
    """(type of the rung, bytes of an element) -> (instructions, registers)."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "rungs.cubin"
        words = ["-std=c++20", f"-arch={architecture}", "--cubin", "-Xptxas", "-v", "-o", cubin]
        words += [f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
        done = subprocess.run(
            [NVCC, *words, ROOT / "src" / "workshop" / "cuda" / "kernel_rungs.cu"],
            check=True, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        sizes = section_sizes(cubin.read_bytes())
    registers = dict(USED.findall(done.stderr))
    readable = subprocess.run(
        ["c++filt"], input="\n".join(registers), check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()
    found = {}
    for mangled, name in zip(registers, readable):
        if kernel := KERNEL.search(name):
            key = kernel[1].replace("cornerturn::ladder::", ""), BYTES[kernel[2]]
            found[key] = (sizes[f".text.{mangled}"] // INSTRUCTION_BYTES, int(registers[mangled]))
    return found


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
    lines = HEAD.splitlines()
    for kind, name in zip(rung_types(), rung_names()):
        for size in BYTES.values():
            if (kind, size) in by_architecture[0]:
                instructions = by_architecture[0][kind, size][0]
                registers = ", ".join(str(found[kind, size][1]) for found in by_architecture)
                lines.append(f'    {{"{name}", {size}, {instructions}, {{{registers}}}}},')
    for name, registers in cute_registers().items():
        lines.append(f'    {{"{name}", 4, 0, {{{registers}, {registers}}}}},')
    return "\n".join([*lines, *TAIL.splitlines()]) + "\n"


def main():
    text = table()
    if "--check" in sys.argv[1:]:
        if text != TABLE.read_text():
            sys.exit(f"not current: {TABLE.relative_to(ROOT)}; run scripts/compiled_rungs.py")
    else:
        TABLE.write_text(text)


if __name__ == "__main__":
    main()
