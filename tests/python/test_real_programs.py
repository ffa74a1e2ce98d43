"""The programs of docs/real-programs.md give the same before and after."""

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from cornerturn import __main__ as command

sys.path.append(str(Path(__file__).parents[2] / "bench" / "python"))
import programs  # noqa: E402

ALL = {program.title: program for program in programs.programs()}
CUDA = "A CUDA file, checked in CI"
# scripts/python.sh builds the package without the command, which scripts/build.sh builds.
PROGRAM = command.PROGRAM if command.PROGRAM.exists() else programs.ROOT / "build" / "release" / "bin" / "cornerturn"


def test_there_are_six():
    assert list(ALL) == list(programs.STARTS) and len(ALL) == 6


@pytest.mark.parametrize("title", [title for title in ALL if title != CUDA])
def test_both_give_the_same(title, tmp_path, monkeypatch):
    start = programs.STARTS[title]
    if importlib.util.find_spec(start.needs) is None:
        pytest.skip(f"{start.needs} is not here")
    monkeypatch.chdir(tmp_path)
    names = programs.names_for(title, tmp_path, 2)
    results = []
    for code in (ALL[title].before, ALL[title].after):
        own = dict(names)
        exec(code, own)
        results.append(own[start.result][...])
    before, after = results
    assert type(before) is type(after) and before.dtype == after.dtype and before.shape == after.shape
    if start.needs == "torch":
        assert before.stride() == after.stride()
    assert np.array_equal(np.asarray(before), np.asarray(after)) and np.asarray(after).any()


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.skipif(not PROGRAM.exists(), reason="neither the package nor the build has the command")
def test_the_cuda_file_is_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "PROGRAM", PROGRAM)
    monkeypatch.chdir(tmp_path)
    names = programs.names_for(CUDA, tmp_path, 2)
    exec(ALL[CUDA].after, names)
    assert [finding for finding in names["report"].findings if "race" in str(finding)]
