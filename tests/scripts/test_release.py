"""scripts/release.sh: what it keeps of an earlier call in dist/."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/release.sh"
FILES = ["cornerturn-7.1.0-cp311-cp311-linux_x86_64.whl", "cornerturn-0.0.9-cp311-cp311-linux_x86_64.whl",
         "cornerturn-7.1.0.tar.gz", "SHA256SUMS"]  # fmt: skip


@pytest.mark.parametrize(("only", "kept"), [("wheel", FILES[:1]), ("all", [])])
def test_wheels_for_other_pythons_stay(tmp_path, only, kept):
    lines = SCRIPT.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if "rm -rf dist" in line)
    last = next(i for i, line in enumerate(lines) if line.startswith("find dist"))
    (tmp_path / "dist").mkdir()
    for name in FILES:
        (tmp_path / "dist" / name).touch()
    script = "\n".join(["set -euo pipefail", f"only={only} version=7.1.0 work=work", *lines[first : last + 1]])
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
    assert sorted(path.name for path in (tmp_path / "dist").iterdir()) == kept
