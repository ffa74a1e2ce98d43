"""bench/ladder/stalls.py: samples become shares; bench/ladder/collect.py writes a line for each row of any part."""

import importlib.util
import json
import pathlib

LADDER = pathlib.Path(__file__).parents[2] / "bench/ladder"


def module(name):
    spec = importlib.util.spec_from_file_location(f"ladder_{name}", LADDER / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_samples_become_shares():
    found = module("stalls").of_launch(
        [("LDG.E R4,  desc[UR4]", {"wait": 1}), ("STS [R7], R4", {"long_scoreboard": 150, "wait": 9}), ("EXIT", {"drain": 40})],
        {"seconds": 1e-3},
    )  # fmt: skip
    assert found["seconds"] == 1e-3 and found["samples"] == 200
    assert found["stalls"] == {"long_scoreboard": 0.75, "drain": 0.2, "wait": 0.05}
    assert [at["instruction"] for at in found["at"]] == ["STS [R7], R4", "EXIT", "LDG.E R4, desc[UR4]"]
    assert found["at"][0]["share"] == 0.795 and found["at"][0]["stalls"]["long_scoreboard"] == 0.9434


def test_no_samples_are_no_shares():
    assert module("stalls").of_launch([], {}) == {"samples": 0, "stalls": {}, "at": []}


def test_reasons_are_told_from_their_doubles():
    """The profiler has each reason twice: of all samples, and of those in which nothing was issued."""
    stalls = module("stalls")
    assert stalls.REASON.match("smsp__pcsamp_warps_issue_stalled_long_scoreboard")[1] == "long_scoreboard"
    assert stalls.REASON.match("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio") is None


def test_results_have_a_line_a_row():
    runs = [
        {"shape": [4, 4], "rungs": [{"name": "copy"}, {"name": "smem"}]},
        {"shape": [4, 4], "starts": [{"threads": 32}, {"threads": 64}, {"threads": 128}]},
    ]
    text = module("collect").text_of({"provenance": {"commit": "abc"}, "runs": runs})
    assert json.loads(text) == {"provenance": {"commit": "abc"}, "runs": runs}
    assert sum(line.startswith("  {") for line in text.splitlines()) == 5
