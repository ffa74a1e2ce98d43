"""The page of casts shows what was measured."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "bench/gpu/casts_page.py"


def test_a_row_for_each_cast_and_a_column_for_each_size(tmp_path):
    case = {"case": "as it lies", "from": "bf16", "to": "fp8_1x128"}
    cases = [
        case | {"shape": [64, 64], "share": 0.914},
        case | {"shape": [32, 32], "share": 0.5},
        case | {"case": "both ways", "shape": [32, 32], "share": 0.25},
        case | {"case": "both ways", "shape": [64, 64], "share": 1.0},
    ]
    origin = {"gpu": "some GPU", "date": "2026-01-02T03"}
    (tmp_path / "result.json").write_text(json.dumps({"provenance": origin, "training": cases}))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- gpu-casts:begin -->\nstale\n<!-- gpu-casts:end -->\nafter\n")
    done = subprocess.run([sys.executable, SCRIPT, tmp_path / "result.json", page], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "stale" not in text and text.startswith("before\n") and text.endswith("after\n")
    assert "| 32 squared | 64 squared |" in text
    assert "| bf16 to fp8_1x128, as it lies | 50 | 91 |" in text
    assert "| bf16 to fp8_1x128, both ways | 25 | 100 |" in text
    assert "some GPU, 2026-01-02, by `bench_conversions`" in text


def test_peers_stand_beside(tmp_path):
    case = {"format": "fp8_1x128", "way": "rows", "shape": [64, 64]}
    seconds = {"cornerturn": 2.0, "torchao": 4.0, "copy": 1.0}
    cases = [case | {"seconds": seconds}, case | {"way": "both", "seconds": seconds | {"torchao": 1.25}}]
    cases.append(case | {"format": "mxfp8_e4m3", "seconds": {"cornerturn": 1.0, "copy": 1.0}})
    report = {"cases": cases, "torchao": "1.2", "torch": "3.4", "gpu": "some GPU", "date": "2026-01-02"}
    (tmp_path / "peers.json").write_text(json.dumps(report))
    (tmp_path / "result.json").write_text(json.dumps({"provenance": {"gpu": "a GPU", "date": "2026"}, "training": []}))
    page = tmp_path / "page.md"
    marks = [f"<!-- {name}:{end} -->\n" for name in ("gpu-casts", "gpu-casts-peers") for end in ("begin", "end")]
    page.write_text("".join(marks))
    command = [sys.executable, SCRIPT, tmp_path / "result.json", page, tmp_path / "peers.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "| fp8_1x128, as it lies | 50, 25 |" in text
    assert "| fp8_1x128, both ways | 50, 80 |" in text
    assert "| mxfp8_e4m3, as it lies | 100 |" in text
    assert "first in 1 of the 2 cases" in text
