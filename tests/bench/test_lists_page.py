"""The page of lists shows what was measured on a GPU."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "bench/lists/lists_page.py"


def test_rows_and_other_cases(tmp_path):
    cases = [
        {"name": "rows of 256 B, both by a list", "share": 0.5},
        {"name": "rows of 64 B, read by a list", "share": 0.704},
        {"name": "rows of 64 B, written by a list", "share": 0.6},
        {"name": "pages of some kind", "share": 0.9},
    ]
    cases = [case | {"kernel": "list_rows", "bytes": 1 << 30} for case in cases]
    origin = {"gpu": "some GPU", "date": "2026-01-02T03", "commit": "0123456789abcdef"}
    (tmp_path / "result.json").write_text(json.dumps({"provenance": origin, "cases": cases}))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- gpu-lists:begin -->\nstale\n<!-- gpu-lists:end -->\nafter\n")
    done = subprocess.run([sys.executable, SCRIPT, tmp_path / "result.json", page], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "stale" not in text and text.startswith("before\n") and text.endswith("after\n")
    assert text.index("| rows of 64 B | 70 | 60 | - |") < text.index("| rows of 256 B | - | - | 50 |")
    assert "| pages of some kind | `list_rows` | 90 |" in text
    assert "some GPU, 2026-01-02, commit 0123456789ab, by `bench_lists`: 1024 MiB" in text
