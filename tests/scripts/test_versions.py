"""docs/python.md says which versions the tests run with."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
versions = pytest.importorskip("versions", reason="no tomllib")


def test_the_page_has_the_pins():
    subprocess.run([sys.executable, ROOT / "scripts/versions.py", "--check"], check=True)


@pytest.mark.parametrize("name", versions.PACKAGES.values())
def test_the_pins_are_what_is_installed(name):
    """Another version here may be right, but then it is another environment that the table speaks of."""
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not here")
    if not (ROOT / ".venv") in Path(sys.executable).parents:
        pytest.skip("this is not the tests' environment")
    assert found.partition("+")[0] == versions.pins()[name]
