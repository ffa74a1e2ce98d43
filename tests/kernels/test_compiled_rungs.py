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
