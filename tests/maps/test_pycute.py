"""The committed answers of pycute are what pycute answers."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(os.environ.get("FULL") != "1", reason="FULL=1 only")
@pytest.mark.skipif(importlib.util.find_spec("pycute") is None,
                    reason="pycute (nvidia-cutlass) is not installed")
def test_the_golden_table_is_what_pycute_answers():
    script = ROOT / "scripts" / "make_layout_golden.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "tests" / "maps" / "pycute_golden.txt").read_text()
