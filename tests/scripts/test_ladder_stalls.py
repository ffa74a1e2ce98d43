"""bench/ladder/stalls.py: samples become shares; bench/ladder/collect.py writes a line for each row of any part."""

import importlib.util
import json
import pathlib
import sys

import pytest

LADDER = pathlib.Path(__file__).parents[2] / "bench/ladder"


def module(name):
    spec = importlib.util.spec_from_file_location(f"ladder_{name}", LADDER / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_samples_become_shares():
    found = module("stalls").of_launch(
        [("LDG.E R4,  desc[UR4]", ("/a/src/x.hpp", 7), {"wait": 1}),
         ("STS [R7], R4", ("/a/src/x.hpp", 8), {"long_scoreboard": 150, "wait": 9}),
         ("BAR.SYNC", ("/a/src/x.hpp", 7), {"barrier": 10}), ("EXIT", ("", 0), {"drain": 30})],
        {"seconds": 1e-3},
    )  # fmt: skip
    assert found["seconds"] == 1e-3 and found["samples"] == 200
    assert found["stalls"] == {"long_scoreboard": 0.75, "drain": 0.15, "wait": 0.05, "barrier": 0.05}
    assert [at["instruction"] for at in found["at"]] == ["STS [R7], R4", "EXIT", "BAR.SYNC", "LDG.E R4, desc[UR4]"]
    assert found["at"][0]["share"] == 0.795 and found["at"][0]["stalls"]["long_scoreboard"] == 0.9434
    assert [(line["place"], line["share"]) for line in found["lines"]] == [("x.hpp:8", 0.795), (":0", 0.15), ("x.hpp:7", 0.055)]
    assert found["lines"][2]["stalls"] == {"barrier": 0.9091, "wait": 0.0909}


def test_no_samples_are_no_shares():
    assert module("stalls").of_launch([], {}) == {"samples": 0, "stalls": {}, "at": [], "lines": []}


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


@pytest.mark.parametrize("part, about, borne_out", [
    ("memory", {"memory_busy": 89}, True),
    ("memory", {"memory_busy": 70}, "in part"),
    ("memory", {"memory_busy": 26}, None),
    ("starts", {"warps_an_sm": 16}, True),
    ("starts", {"warps_an_sm": 55}, False),
    ("issue", {"issue_busy": 64}, True),
    ("issue", {"issue_busy": 20}, False),
    ("latency", {"stalls": {"long_scoreboard": 0.5, "barrier": 0.1}, "memory_busy": 40}, True),
    ("latency", {"stalls": {"long_scoreboard": 0.2}, "memory_busy": 40}, False),
    ("shared", {"stalls": {"mio_throttle": 0.4}}, True),
    ("shared", {"stalls": {"long_scoreboard": 0.9}}, False),
])
def test_the_page_says_where_the_profiler_disagrees(part, about, borne_out):
    sys.path.insert(0, str(LADDER.parents[1] / "scripts"))
    import ladder_stalls

    kernel = {"memory_busy": 90, "issue_busy": 10, "warps_an_sm": 60, "stalls": {}, **about}
    text = ladder_stalls.agreement(part, kernel, 90)
    words = {True: "bears out the ledger", False: f"does not bear out the ledger's largest part, `{part}`", None: "not the DRAM"}
    assert words.get(borne_out, borne_out) in text
    assert ("in part" in text) == (borne_out == "in part")
