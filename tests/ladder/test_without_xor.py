"""The rung `smem_chunk_xor` with its xor deleted does not compile; the compiler names lanes and bank."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNG = '#include "workshop/rungs/smem_chunk_xor.hpp"\ntemplate struct cornerturn::ladder::ChunkTile<float>;\n'


def compiled(compiler, folder):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    includes = [f"-I{folder}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
    return subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", *includes, "-x", "c++", "-"],
        input=RUNG, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_proof_fails_without_the_xor(tmp_path, compiler):
    assert compiled(compiler, tmp_path).returncode == 0
    text = (ROOT / "src" / "maps" / "tile_maps.hpp").read_text()
    xor = " ^ (row / RowsPerStep & (steps - 1))"
    assert text.count(xor) == 1
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "tile_maps.hpp").write_text(text.replace(xor, ""))
    done = compiled(compiler, tmp_path)
    assert done.returncode != 0
    message = done.stderr.replace("cornerturn::", "").replace("UL", "")
    # Lanes are V = 4 rows of 256 bytes apart: both begin in bank 0.
    assert re.search(r"BankConflict<Request<0>, LaneA<0>, LaneB<1>, Bank<0>, WordA<0>, WordB<256>\s*>", message), (
        done.stderr
    )
