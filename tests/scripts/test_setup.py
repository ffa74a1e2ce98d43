"""The set-up says what it is about to install before it does; the build says how far it is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ["awk", "bash", "cat", "dirname", "env", "grep", "ln", "mkdir", "tail", "tee"]
APT = """#!/bin/bash
case $* in
  *update*) ;;
  *--print-uris*) printf "'http://x/%s' %s 1500000 MD5\\n" a a.deb b b.deb ;;
  *install*) %s ;;
esac
"""


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path):
    """A copy of the scripts, and a PATH with few tools, an apt-get that is made up, and the user root."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(shutil.which(tool))
    program(folder / "id", "#!/bin/bash\necho 0\n")
    return tmp_path


def run(machine, *words):
    env = {**os.environ, "PATH": str(machine / "bin")}
    return subprocess.run(["bash", *words], cwd=machine, env=env, capture_output=True, text=True)


def test_what_is_missing_is_named_with_its_size_before_it_is_installed(machine):
    program(machine / "bin" / "apt-get", APT.replace("%s ;;\nesac", "exit 100 ;;\nesac"))
    failed = run(machine, "scripts/setup.sh", "format")
    assert failed.returncode == 1 and "apt-get could not install clang-format" in failed.stderr
    *_, last = failed.stdout.splitlines()
    assert last == "set-up: installing clang-format with apt-get: 2 packages, 3 MB to download"

    made = machine / "bin" / "clang-format"
    program(machine / "bin" / "apt-get", APT.replace("%s ;;\nesac", f"ln -s bash {made} ;;\nesac"))
    done = run(machine, "scripts/setup.sh", "format")
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert "missing: clang-format" in first and second == last and third.startswith("set-up:   done in ")
    assert run(machine, "scripts/setup.sh", "format").stdout == "set-up: all 1 packages for 'format' are here\n"


def test_a_build_says_how_far_it_is(machine):
    steps = "\n".join(f"echo '[{step}/40] Building something'" for step in range(1, 41))
    program(machine / "scripts" / "build.sh", f"#!/bin/bash\necho Configured\n{steps}\n")
    (machine / ".venv" / "bin").mkdir(parents=True)
    program(machine / ".venv" / "bin" / "python", '#!/bin/bash\necho "demo: $*"\n')
    lines = run(machine, "scripts/run.sh").stdout.splitlines()
    steps = [line.split(" after ")[0] for line in lines if line.startswith("  step")]
    assert steps == [f"  step {step} of 40" for step in (1, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40)]
    assert any("demo: -u scripts/demo.py" in line for line in lines) and lines[-1].startswith("all of it took ")

    program(machine / "scripts" / "build.sh", "#!/bin/bash\necho '[1/2] broken'\nexit 1\n")
    failed = run(machine, "scripts/run.sh")
    assert failed.returncode == 1 and "build failed" in failed.stderr and "[1/2] broken" in failed.stderr
    assert "demo" not in failed.stdout
