"""What `check` counted beside a profiler's figures: made-up counts of one kernel, and the committed comparison."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "bench" / "check" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


compare = script("compare_lines")


def checked(line, op, width, lanes, count, ideal, what="sectors", requests=1):
    counts = {"actual": count, "ideal": ideal}
    both = {"sectors": counts, "wavefronts": counts} if op == "async_copy" else {what: counts}
    return {"file": "k.cu", "line": line, "op": op, "width": width, "requests": requests, "lanes": lanes, **both}


def counted(line, sass, lanes, count, ideal, what="sectors", wavefronts=None):
    values = {"inst_executed": 1, "thread_inst_executed": 32, "thread_inst_executed_true": lanes,
              compare.METRICS[what]: count, compare.METRICS[what] + "_ideal": ideal}  # fmt: skip
    if wavefronts is not None:
        values |= {compare.METRICS["wavefronts"]: wavefronts, compare.METRICS["wavefronts"] + "_ideal": wavefronts}
    return sass, ["k.cu", line], {key: value for key, value in values.items() if value}


def rows_of(ours, theirs):
    launch = {"name": "k", "code": [[16 * i, *one] for i, one in enumerate(theirs)]}
    listing = {16 * i: (sass, []) for i, (sass, _, _) in enumerate(theirs)}
    problems = []
    rows = compare.compare_kernel({"launches": 1, "lines": ours}, [launch], listing, compare.Statements(), problems)
    assert problems == []
    return {row["line"]: (row["equal"], row["why"]) for row in rows}


LOAD, STORE, SHARED, COPY = "LDG.E R2, [R4.64]", "@P0 STG.E.64 [R2.64], R4", "LDS R0, [R7]", "LDGSTS.E.128 [R1], [R2.64]"


@pytest.mark.parametrize(
    "ours, theirs, expected",
    [
        ([checked(3, "global_load", 4, 32, 4, 4)], [counted(3, LOAD, 32, 4, 4)], {3: (True, None)}),
        ([checked(3, "global_store", 8, 32, 9, 8)], [counted(3, STORE, 32, 9, 8)], {3: (True, None)}),
        # A copy without a thread agrees where both of its sides do.
        ([checked(3, "async_copy", 16, 32, 16, 16)], [counted(3, COPY, 32, 16, 16, wavefronts=16)], {3: (True, None)}),
        ([checked(3, "async_copy", 16, 32, 16, 16)], [counted(3, COPY, 32, 16, 16, wavefronts=9)], {3: (False, "regrouped")}),
        # Four loads of 4 bytes are one of 16; one of 8 bytes is two of 4.
        ([checked(3, "global_load", 4, 128, 64, 16)], [counted(3, "LDG.E.128 R4, [R4.64]", 32, 16, 16)], {3: (False, "merged")}),
        ([checked(3, "global_load", 8, 32, 8, 8)], [counted(3, LOAD, 64, 16, 8)], {3: (False, "split")}),
        ([checked(3, "global_load", 4, 64, 8, 8)], [counted(3, LOAD, 32, 4, 4)], {3: (False, "fewer")}),
        ([checked(3, "global_load", 4, 32, 4, 4)], [counted(3, LOAD, 64, 8, 8)], {3: (False, "more")}),
        ([checked(3, "global_load", 4, 32, 4, 4)], [], {3: (False, "fewer")}),
        # As many lanes and bytes under another line are the same access; others are not.
        ([checked(3, "global_load", 4, 32, 4, 4)], [counted(4, LOAD, 32, 4, 4)], {3: (False, "moved"), 4: (False, "moved")}),
        ([checked(3, "global_load", 4, 32, 4, 4)], [counted(4, LOAD, 32, 5, 4)], {3: (False, "fewer"), 4: (False, "more")}),
        # Other lanes together: by the ideal, or since a loop has several instructions.
        ([checked(3, "shared_load", 4, 40, 2, 2, "wavefronts", 2)], [counted(3, SHARED, 40, 3, 3, "wavefronts")],
         {3: (False, "regrouped")}),
        ([checked(3, "shared_load", 4, 32, 2, 2, "wavefronts", 2)],
         [counted(3, SHARED, 16, 1, 1, "wavefronts"), counted(3, SHARED, 16, 2, 1, "wavefronts")], {3: (False, "regrouped")}),
        # One instruction, as many lanes, the same ideal: nobody but the model is to blame.
        ([checked(3, "shared_load", 4, 32, 4, 1, "wavefronts")], [counted(3, SHARED, 32, 2, 1, "wavefronts")],
         {3: (False, "counted")}),
        # Instructions whose predicate no lane fulfils, and those that go to no memory of these, are no rows.
        ([], [counted(3, "@!PT LDS RZ, [RZ]", 0, 0, 0, "wavefronts"), counted(3, "LDC R1, c[0x0][0x28]", 32, 0, 0)], {}),
    ],
)  # fmt: skip
def test_a_row_agrees_or_says_why_not(ours, theirs, expected):
    assert rows_of(ours, theirs) == expected


def test_launches_of_one_kernel_are_one_and_those_that_a_fault_ended_are_none():
    launch = {"name": "k", "mangled": "_k", "grid": [1, 1, 1], "block": [32, 1, 1], "code": [[0, LOAD, ["k.cu", 1], {"inst_executed": 1}]]}
    ended = {**launch, "name": "broken", "code": [[0, LOAD, ["k.cu", 1], {}]]}
    assert compare.grouped([launch, ended, launch]) == [[launch, launch]]


def test_a_statement_of_several_lines_is_one_place(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text("void f() {\n  a[i] =\n      b[i];  // ;\n  c = g(1,\n        2); d = 0;\n}\n")
    statements = compare.Statements()
    assert [statements.start(str(source), line) for line in range(1, 7)] == [1, 2, 2, 4, 4, 6]
    assert statements.start(str(tmp_path / "missing.cu"), 7) == 7


def test_an_instruction_of_a_header_belongs_to_the_line_that_calls_it(tmp_path):
    listing = tmp_path / "k.sass"
    listing.write_text(
        "\t.section\t.text._Z1kPf,\"ax\",@progbits\n"
        '\t//## File "/usr/local/cuda/include/cuda_fp16.hpp", line 12 inlined at "/p/k.cu", line 3\n'
        '\t//## File "/p/k.cu", line 3\n'
        "        /*0010*/                   LDG.E R2, [R4.64] ;\n"
        "        /*0020*/                   EXIT ;\n"
    )
    code = compare.lines_of_code(listing)["_Z1kPf"]
    sass, places = code[0x10]
    assert sass == LOAD
    assert compare.user_place(places, (None, None)) == ("/p/k.cu", 3)
    assert code[0x20][1] == places


def test_a_row_that_agrees_in_another_build_says_so():
    row = {"file": "k.cu", "line": 3, "op": "global_load", "requests": 5, "as_written": False, "why": "merged"}
    kernel = lambda equal: {"p": [{"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "rows": [{**row, "equal": equal}]}]}
    programs = kernel(False)
    compare.mark_agreeing_elsewhere(programs, kernel(True))
    sums = compare.summed(programs["p"])
    assert (sums["requests"], sums["requests_equal"], sums["requests_equal_elsewhere"]) == (5, 0, 5)
    assert sums["requests_different"] == {"merged": 5}


def test_the_page_says_what_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    page = script("lines_page")
    assert page.markdown(json.loads(page.RESULT.read_text())) in page.PAGE.read_text()
    assert page.share(99999, 100000) == "99.99 %"
