"""The page shows what calls and plans were measured to cost the host of a GPU."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "gpu" / "latency_page.py"


def test_every_call_is_a_row():
    spec = importlib.util.spec_from_file_location("latency_page", SCRIPT)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    report = {
        "provenance": {"gpu": "X100", "cpu": "Some CPU", "driver": "1.2", "date": "2026-01-02T03", "commit": "abc"},
        "planning": {"plans": 300, "median_seconds": 12.34e-6, "p90_seconds": 45.67e-6, "first_seconds": 8.9e-4},
        "calls": [
            {"call": "nothing", "seconds": 2.004e-6, "best_seconds": 1.9e-6},
            {"call": "transpose", "seconds": 10.5e-6, "best_seconds": 9.99e-6},
        ],
    }
    text = page.markdown(report)
    assert "| nothing | 2.00 | 1.90 |\n| transpose | 10.5 | 9.99 |\n" in text
    assert "12.3 us in the middle, and at most 45.7 in 90 % of 300 problems" in text
    assert "the first one of a process takes 890." in text
