"""As a new user: `pip install .` into an empty virtual environment, then the README's lines."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(os.environ.get("FULL") != "1", reason="takes minutes: FULL=1 runs it")
def test_pip_install(tmp_path):
    def run(*command, **options):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, **options)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    base = Path(sys.base_prefix) / "bin" / "python3"
    run(base if base.exists() else sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    wanted = (ROOT / "scripts" / "requirements-test.txt").read_text()
    numpy = re.search(r"^numpy==.*$", wanted, re.M)[0]
    # Device code is built elsewhere: here it would take a quarter of an hour. Warnings are errors,
    # and the compilers those of the other builds, whose objects ccache has.
    environment = {**os.environ, "CMAKE_ARGS": "-DCORNERTURN_CUDA=OFF -DCORNERTURN_WERROR=ON"}
    environment |= {"CC": environment.get("CC", "cc"), "CXX": environment.get("CXX", "c++")}
    environment.pop("PYTHONPATH", None)
    if not environment.get("CCACHE_BASEDIR"):
        environment["CCACHE_BASEDIR"] = str(ROOT)
    # At this depth the compiler cache meets the names that scripts/python.sh has for the same files.
    folder = f"--config-settings=build-dir={ROOT / 'build' / 'python-fresh'}"
    run(python, "-m", "pip", "install", "--disable-pip-version-check", folder, numpy, str(ROOT), env=environment)
    block = re.search(r"^```pycon\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M)[1]
    (tmp_path / "lines.txt").write_text(block)
    check = "import doctest; print(doctest.testfile('lines.txt', module_relative=False))"
    said = run(python, "-c", check, env=environment)
    assert re.search(r"failed=0, attempted=[4-9]", said), said
    # The package has what its command compiles and links CUDA sources with.
    (tmp_path / "a.cu").write_text((ROOT / "examples" / "transpose_with_faults.cu").read_text())
    checked = subprocess.run([python, "-m", "cornerturn", "check", "a.cu"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1 and "a.cu:15: thread" in checked.stdout, checked
    package = next((tmp_path / "venv").glob("lib/python*/site-packages/cornerturn"))
    assert list(package.glob("lib/*.a")) and list(package.glob("include/cornerturn/cuda_source/*.hpp"))
    assert len(list(package.glob("share/cornerturn/puzzles/solutions/*.cu"))) == len(list(package.glob("share/cornerturn/puzzles/*.cu"))) > 0
