"""What the installation tests share: the build that is tested and the compilers of this machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release")).resolve()


def run(*command, **options):
    """Runs a command; a failure shows everything that it printed."""
    result = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}"
    return result.stdout


def need(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on this machine")
    return program
