"""CuTe's C++ templates, compiled for the host: our maps and the legs of the CuTe rungs against them, and
the CuTe rungs' kernels themselves, run thread by thread with another launch and another copy engine.

CuTe (4.2) and pycute, of the same package, do not agree everywhere; there we do as pycute, whose
answers are committed (pycute_golden.txt). The rules of `is_common` say where they agree:

- composition, and with it division: the second layout stays in the first one's domain, or the first
  one does not end in a mode of extent 1. Beyond the domain the last mode goes on; one of extent 1
  is dropped by pycute before, and kept with its stride by CuTe.
- left_inverse: the layout has no gaps. What an inverse makes of a number that the layout never gives
  is free, and the two make different things of it.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CUDA = Path("/usr/local/cuda/include")
CASES = {"composition": 40, "complement": 15, "coalesce": 15, "right_inverse": 10, "left_inverse": 10,
         "logical_divide": 10, "zipped_divide": 8, "logical_product": 10}
UNARY = ("coalesce", "right_inverse", "left_inverse")


def cute_headers():
    package = importlib.util.find_spec("cutlass_library")
    folder = package and Path(package.origin).parent / "source" / "include"
    return folder if folder and (folder / "cute" / "layout.hpp").exists() else None


pytestmark = [
    pytest.mark.skipif(os.environ.get("FULL") != "1", reason="FULL=1 only"),
    pytest.mark.skipif(cute_headers() is None, reason="CuTe (nvidia-cutlass) is not installed"),
    pytest.mark.skipif(not (CUDA / "cuda_runtime.h").exists(), reason="no CUDA headers"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
]


# name: source, what else it is linked with, options
PROGRAMS = {
    "maps": ("maps/compile/cute.cpp", ["workshop/analyse/notation.cpp"], ["-O0"]),
    "legs": ("maps/compile/cute_rungs.cpp",
             ["workshop/analyse/cute_legs.cpp", "workshop/analyse/kernel_report.cpp", "workshop/analyse/access.cpp"], ["-O0"]),
    "kernels": ("cuda/host_cute.cpp", [], ["-O1", f"-I{ROOT / 'tests/cuda/host'}"]),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """All of them, compiled at the same time: CuTe's templates take a while."""
    folder = tmp_path_factory.mktemp("cute")
    (folder / "cases.inc").write_text(algebra_cases())
    includes = [folder, ROOT / "src", ROOT / "include", cute_headers(), CUDA, CUDA / "cccl"]
    compilers = {}
    for name, (source, others, options) in PROGRAMS.items():
        command = ["g++", "-std=c++20", "-w", "-DNDEBUG", *options, *[f"-I{path}" for path in includes],
                   str(ROOT / "tests" / source), *[str(ROOT / "src" / other) for other in others],
                   "-lfmt", "-o", str(folder / name)]
        compilers[name] = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for name, compiler in compilers.items():
        _, messages = compiler.communicate()
        assert compiler.returncode == 0, f"{name}: {messages[:4000]}"
    return {name: folder / name for name in PROGRAMS}


def compared(program):
    """How much the program compared, if all of it was equal."""
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    return int(done.stdout.splitlines()[-1].split()[0])


def cute_type(text):
    """(2,(3)):(1,(2)) as a type."""

    def tuple_type(numbers, name):
        numbers = re.sub(r"\d+", lambda m: f"cute::Int<{m[0]}>", numbers)
        return numbers.replace("(", f"cute::{name}<").replace(")", ">")

    shape, stride = text.split(":")
    return f"cute::Layout<{tuple_type(shape, 'Shape')},{tuple_type(stride, 'Stride')}>"


def size_and_cosize(text):
    shape, stride = ([int(n) for n in re.findall(r"\d+", part)] for part in text.split(":"))
    size = 1
    for extent in shape:
        size *= extent
    return size, 1 + sum((e - 1) * s for e, s in zip(shape, stride))


def is_common(name, fields):
    size, cosize = size_and_cosize(fields[0])
    if name == "left_inverse":
        return size == cosize
    if name in ("composition", "logical_divide", "zipped_divide"):
        last_extent = int(re.findall(r"\d+", fields[0].split(":")[0])[-1])
        return last_extent != 1 or size_and_cosize(fields[1])[1] <= size
    return True


def algebra_cases():
    """The first lines of each kind that both answer, as statements for cute.cpp."""
    left = dict(CASES)
    lines = []
    aliases = {}

    def alias(text):  # macro arguments may hold no commas
        return aliases.setdefault(text, f"L{len(aliases)}")

    for line in (ROOT / "tests" / "maps" / "pycute_golden.txt").read_text().splitlines()[1:]:
        name, *fields = line.split("|")
        if left.get(name, 0) == 0 or fields[-1] == "-" or ";" in line or not is_common(name, fields):
            continue
        left[name] -= 1
        if name in UNARY:
            lines.append(f'UNARY({name}, {alias(fields[0])}, "{fields[0]}")')
        elif name == "complement":
            lines.append(f'compare("complement", cute::complement({alias(fields[0])}{{}}, '
                         f'cute::Int<{fields[1]}>{{}}), ct::complement(ct::parse_layout("{fields[0]}"), '
                         f'{fields[1]}), "{fields[0]}", "{fields[1]}");')
        else:
            lines.append(f'BINARY({name}, {alias(fields[0])}, {alias(fields[1])}, '
                         f'"{fields[0]}", "{fields[1]}")')
    assert not any(left.values()), left
    types = [f"using {name} = {cute_type(text)};" for text, name in aliases.items()]
    return "\n".join([*types, "void compare_cases() {", *lines, "}", ""])


def test_maps_are_what_cute_computes(programs):
    assert compared(programs["maps"]) > 2000


def test_legs_of_the_rungs_are_what_cute_partitions(programs):
    assert compared(programs["legs"]) == 256 * (2 * 2 + 5 * 3 + 2 + 4)


def test_the_kernels_transpose_on_the_host(programs):
    assert compared(programs["kernels"]) == 119
