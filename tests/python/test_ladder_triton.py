"""The Triton rungs without a GPU: in Triton's interpreter, and compiled for one."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import triton_worker

pytest.importorskip("cornerturn.ladder")
pytestmark = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("numpy", "torch", "triton")),
    reason="needs NumPy, PyTorch and Triton",
)


def worker(task):
    done = subprocess.run([sys.executable, triton_worker.__file__, task], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def interpreted():
    return worker("interpret")


@pytest.mark.parametrize("case", triton_worker.CASES)
def test_in_the_interpreter(case, interpreted):
    assert interpreted[case] is None, interpreted[case]


def test_every_kernel_compiles_and_blocks_have_wide_accesses():
    widths = worker("compile")
    for name in ("triton_1d", "triton_2d", "triton_trans_1x1"):
        assert widths[name] == ["ld.global.b32", "st.global.b32"]
    for name in ("triton_block", "triton_block_tuned"):
        assert {"ld.global.v4.b32", "st.global.v4.b32"} <= set(widths[name])
        assert any(text.startswith("st.shared") for text in widths[name])


def test_without_triton_the_reason_is_said(tmp_path):
    (tmp_path / "triton.py").write_text("raise ModuleNotFoundError(\"No module named 'triton'\")\n")
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import cornerturn.ladder as l\n"
        "try: l.triton_2d.why_not(3, 4)\n"
        "except RuntimeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "triton_2d needs Triton and PyTorch: No module named 'triton'\n"


def test_compiled_kernels_are_no_use_in_host_memory():
    import numpy

    from cornerturn import ladder
    from cornerturn.ladder.triton_rungs.interpreter import INTERPRETED

    if INTERPRETED:
        pytest.skip("TRITON_INTERPRET is set for all tests")
    with pytest.raises(ValueError, match="triton_block does not apply: .* TRITON_INTERPRET=1 was not set"):
        ladder.triton_block(numpy.zeros((4, 6), "f4"), numpy.zeros((6, 4), "f4"))


@pytest.mark.parametrize("rung", triton_worker.RUNGS)
def test_every_rung_is_a_file_with_the_judges_call(rung):
    path = Path(__file__).parents[2] / "python/cornerturn/ladder/triton_rungs" / f"{rung}.py"
    text = path.read_text()
    assert re.search(r"^def solve\(input, output, rows: int, cols: int\) -> None:$", text, re.M)
    assert text.startswith(f'"""{rung}: ')
    assert (Path(__file__).parents[2] / "docs" / "kernels" / f"{rung}.md").exists()
