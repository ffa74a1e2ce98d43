"""What the ladder says of the rungs' compiled code: instructions and registers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
sys.path.insert(0, str(ROOT / "scripts"))

import compiled_paths  # noqa: E402
import compiled_rungs  # noqa: E402


@pytest.mark.skipif(os.environ.get("FULL") != "1", reason="FULL=1 only")
@pytest.mark.skipif(not Path(NVCC).exists(), reason="nvcc is not installed")
def test_the_table_is_what_the_compiler_makes():
    check = subprocess.run([sys.executable, ROOT / "scripts" / "compiled_rungs.py", "--check"], capture_output=True)
    assert check.returncode == 0, check.stderr.decode()


def test_every_rung_has_its_type_and_name():
    named = dict(zip(compiled_rungs.rung_types(), compiled_rungs.rung_names(), strict=True))
    assert named["NaiveRead<8>"] == "naive_read_8" and named["BlockOrder<(Order)4>"] == "block_order_hilbert"
    assert named["CpyByHand"] == "cpy_by_hand" and len(set(named.values())) == len(named)


def test_an_sm_holds_as_many_blocks_as_the_driver_says():
    """The registers that were measured, in the formula by which the ladder counts resident blocks."""
    program = os.environ.get("CORNERTURN", ROOT / "build" / "release" / "bin" / "cornerturn")
    report = subprocess.run([program, "ladder", "--no-gpu", "--json"], check=True, capture_output=True)
    rungs = {rung["name"]: rung["predicted"]["resident"] for rung in json.loads(report.stdout)["rungs"]}
    runs = json.loads(compiled_rungs.MEASURED.read_text())["runs"]
    checked = 0
    for rung in next(run for run in runs if run["dtype"] == "f32")["rungs"]:
        measured = rung["measured"]["occupancy"]
        predicted = rungs[rung["name"]]["compute capability 9.0"]
        if predicted["registers"] == measured["registers"]:  # else the kernel has changed since
            assert predicted["blocks"] == measured["blocks_per_sm"], rung["name"]
            checked += 1
    assert checked > 20


def code_of(*lines):
    code = compiled_paths.Code()
    for line in lines:
        if line.endswith(":"):
            code.labels[line.rstrip(":")] = len(code.lines)
        else:
            code.lines.append(line)
    return code


def test_the_shortest_way_makes_the_accesses_and_counts_the_waits():
    """Two ways: one load of 16 bytes, or a loop over four of 4 bytes, each used before the next one."""
    code = code_of(
        "@P0 BRA `(.L_loop)", "LDG.E.128 R4, [R2.64]", "IMAD R20, R20, R20, R20", "STS.128 [R9], R4", "EXIT",
        "L_loop:", "LDG.E R4, [R2.64]", "STS [R9], R4", "@!P1 BRA `(.L_loop)", "EXIT",
    )  # fmt: skip
    wide = {("global load", 16): 1, ("shared store", 16): 1}
    assert code.shortest(wide) == [0, 1, 2, 3, 4] and code.trips([0, 1, 2, 3, 4]) == 1
    narrow = code.shortest({("global load", 4): 4, ("shared store", 4): 4})
    assert len(narrow) == 1 + 4 * 3 + 1 and code.trips(narrow) == 4
    assert code.shortest({("global load", 4): 1, ("shared store", 16): 1}) is None


def test_loads_that_are_on_their_way_together_are_one_wait():
    together = code_of("LDG.E R4, [R2.64]", "LDG.E R5, [R2.64+0x80]", "STS [R9], R4", "STS [R9+0x80], R5", "EXIT")
    assert together.trips(range(5)) == 1
    apart = code_of("LDG.E R4, [R2.64]", "STS [R9], R4", "LDG.E.64 R6, [R2.64+0x80]", "STS [R9+0x80], R7", "EXIT")
    assert apart.trips(range(5)) == 2
