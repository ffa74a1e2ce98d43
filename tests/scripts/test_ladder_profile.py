"""bench/ladder/profile.py: instructions become legs, and differences are found."""

import importlib.util
import pathlib

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "bench/ladder/profile.py"


@pytest.fixture(scope="module")
def profile():
    spec = importlib.util.spec_from_file_location("ladder_profile", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("sass, leg", [
    ("LDG.E R4, desc[UR4][R2.64]", ("global load", 4)),
    ("@!P0 LDG.E.128 R4, desc[UR4][R2.64]", ("global load", 16)),
    ("      @P3 STG.E.U8 desc[UR4][R2.64], R5", ("global store", 1)),
    ("LDS.U16 R3, [R3+UR4]", ("shared load", 2)),
    ("STS.64 [R7], R8", ("shared store", 8)),
    ("@!PT LDS RZ, [RZ]", ("shared load", 4)),
    ("LDGSTS.E.128 [R7], desc[UR4][R2.64]", ("async copy", 16)),
    ("UTMALDG.2D [UR8], [UR4]", None),
    ("IMAD.WIDE R2, R3, 0x4, R4", None),
    ("", None),
])
def test_legs(profile, sass, leg):
    assert profile.leg_of(sass) == leg


def case():
    return {"rung": "smem", "element_bytes": 4, "rows": 32, "cols": 32, "legs": [
        {"op": "global load", "bytes_a_lane": 4, "requests": 32, "sectors": 128},
        {"op": "shared load", "bytes_a_lane": 4, "requests": 32, "wavefronts": 1024}]}


def counted(wavefronts):
    # Unrolled four times: four instructions make up one leg.
    return ([("LDG.E R4, [R2]", {"requests": 8, "sectors": 32, "wavefronts": 0})] * 4 +
            [("LDS R4, [R2]", {"requests": 8, "sectors": 0, "wavefronts": wavefronts})] * 4)


def totals(profile, **sums):
    return {name: sums.get(name.rsplit(".", 1)[0].rsplit("mem_", 1)[1], 0) for name in profile.TOTALS}


def launches(profile, *wavefronts, total=None):
    """One repeat for each figure of the shared load's instructions."""
    return [(counted(n), totals(profile, global_op_ld=128, shared_op_ld=total or 4 * n))
            for n in wavefronts]


def test_equal_counts_are_no_difference(profile):
    one = case()
    assert profile.compare(one, launches(profile, 256, 256)) == []
    assert one["legs"][0]["counted"]["instructions"] == 4
    assert one["legs"][1]["counted"]["wavefronts"] == 1024
    assert "instructions" not in one


def test_accesses_of_one_kind_are_told_apart(profile):
    """Two loads in the source, an instruction each: each has its own figures, whatever the order of the code."""
    def two(requests):
        legs = [{"op": "global load", "bytes_a_lane": 4, "requests": n, "sectors": 4 * n} for n in requests]
        return {"rung": "cpy_by_hand", "element_bytes": 4, "rows": 32, "cols": 32, "legs": legs}

    code = [("LDG.E R4, [R2]", {"requests": n, "sectors": 4 * n, "wavefronts": 0}) for n in (16, 8)]
    launch = [(code, totals(profile, global_op_ld=96))]
    apart = two([8, 16])
    assert profile.compare(apart, launch) == []
    assert [leg["counted"]["requests"] for leg in apart["legs"]] == [8, 16]
    assert all(leg["counted"]["instructions"] == 1 for leg in apart["legs"])
    # Three accesses by two instructions are not: each has the sum, and says of how many it is.
    together = two([8, 8, 8])
    profile.compare(together, launch)
    assert [leg["counted"] for leg in together["legs"]] == [
        {"instructions": 2, "requests": 24, "sectors": 96, "wavefronts": 0, "accesses": 3}] * 3


def test_a_difference_is_named_by_leg_and_by_counter(profile):
    one = case()
    assert profile.compare(one, launches(profile, 8, 8)) == [
        ("wrong", "smem 4 B 32 x 32: shared load of 4 B, wavefronts: 1024 predicted, "
                  "32 / 32 counted"),
        ("wrong", "smem 4 B 32 x 32: l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum: "
                  "1024 predicted, 32 / 32 counted")]
    assert one["instructions"]


def test_one_repeat_that_differs_is_a_difference(profile):
    found = profile.compare(case(), launches(profile, 256, 257))
    assert [result for result, _ in found] == ["wrong"]


def test_a_leg_that_nobody_predicted_is_a_difference(profile):
    code = counted(256) + [("STS [R2], R4", {"requests": 8, "sectors": 0, "wavefronts": 8})]
    found = profile.compare(case(), [(code, totals(profile, global_op_ld=128, shared_op_ld=1024))])
    assert found == [("wrong", "smem 4 B 32 x 32: shared store of 4 B, wavefronts: 0 predicted, "
                               "8 counted")]


def test_arbitration_adds_to_the_data_stage_but_takes_nothing_from_it(profile):
    assert profile.compare(case(), launches(profile, 256, total=1040)) == []
    assert [result for result, _ in profile.compare(case(), launches(profile, 256, total=1000))] \
        == ["wrong"]


@pytest.mark.parametrize("rows, seen, result", [
    (301, [1505, 1505, 1505], []),
    (301, [1505, 1498, 1505], ["unsettled"]),
    (301, [1505, 1600, 1505], ["wrong"]),  # too far off
    (320, [1505, 1498, 1505], ["wrong"]),  # whole tiles are exact
])
def test_async_copies_from_cut_tiles_may_be_unsettled(profile, rows, seen, result):
    def one_case(op):
        return {"rung": "cute_smem", "element_bytes": 4, "rows": rows, "cols": 128,
                "legs": [{"op": op, "bytes_a_lane": 4, "requests": 8, "wavefronts": 1505}]}

    def code(sass, counter, others):
        return [([(sass, {"requests": 8, "wavefronts": n})],
                 totals(profile, **{counter: 1505 + others})) for n in seen]

    copies = code("LDGSTS.E [R7], desc[UR4][R2.64]", "shared_op_ldgsts", 0)
    assert [kind for kind, _ in profile.compare(one_case("async copy"), copies)] == result
    # The counter of the whole kernel is compared for whole tiles only.
    more = code("LDGSTS.E [R7], desc[UR4][R2.64]", "shared_op_ldgsts", 64)
    extra = [] if rows % 64 else ["wrong"]
    assert [kind for kind, _ in profile.compare(one_case("async copy"), more)] == result + extra
    loads = code("LDS R4, [R2]", "shared_op_ld", 0)
    assert [kind for kind, _ in profile.compare(one_case("shared load"), loads)] == ["wrong"] * len(result)
