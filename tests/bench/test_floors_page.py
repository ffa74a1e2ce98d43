"""The page shows what moved tiles take, and what random problems reach of it."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "gpu" / "floors_page.py"
MIB = 1 << 20


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("floors_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report():
    def size(mib, aligned, anywhere):
        return {
            "bytes": mib * MIB,
            "copy_seconds": 1.0,
            "aligned": {"seconds": aligned},
            "anywhere": {"seconds": anywhere},
        }

    origin = {"gpu": "X100", "driver": "1.2", "date": "2026-01-02T03", "commit": "abc"}
    return {"provenance": origin, "sizes": [size(1, 1.25, 2.0), size(4, 1.0, 1.25)]}


def test_between_two_sizes_lies_a_line_on_their_logarithms(page):
    floors = page.Floors(report())
    shares = [floors.share("aligned", mib * MIB // 2) for mib in (1, 2, 4, 8, 16)]
    assert shares == pytest.approx([0.8, 0.8, 0.9, 1.0, 1.0])
    assert floors.share("anywhere", 2 * MIB) == pytest.approx(0.65)


def test_problems_are_compared_with_tiles_of_their_form_and_bytes(page):
    def problem(group, size, mib, share):
        return {
            "class": group,
            "element_bytes": size,
            "payload_bytes": mib * MIB,
            "copy_seconds": share,
            "seconds": 1.0,
        }

    cases = [
        problem("matrix-odd", 1, 2, 0.52),  # of 0.65
        problem("matrix-aligned", 2, 20, 0.5),  # of 1
        problem("rows", 1, 2, 0.1),  # no tiles
    ]
    text = page.markdown(report(), cases)
    assert "| MiB | 1 | 4 |\n" in text
    assert "| rows begin at multiples of 512 bytes | 80 | 100 |\n| rows begin anywhere | 50 | 80 |\n" in text
    assert "| matrices, aligned | - / - / - | - / 50 / - | - / - / - | - / - / - |\n" in text
    assert "| matrices, odd | 80 / - / - | - / - / - | - / - / - | - / - / - |\n" in text
