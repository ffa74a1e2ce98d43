"""The arithmetic behind cornerturn.rechunk: boxes, stages and their costs."""

import math

import pytest

pytest.importorskip("numpy")
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn._chunks import planning
from cornerturn._chunks.boxes import Box, Grid, covered, largest_box, meetings
from cornerturn._chunks.planning import Side, choose, stages_of

extents = st.integers(1, 60)


@given(extents, extents, extents)
def test_meetings_and_covered_count_what_a_loop_counts(n, a, b):
    a, b = min(a, n), min(b, n)
    pairs = [
        (i, j)
        for i in range(0, n, a)
        for j in range(0, n, b)
        if max(i, j) < min(i + a, j + b, n)
    ]
    assert meetings(n, a, b) == len(pairs)
    assert covered(n, a, b) == sum(min(j + b, n) - j for _, j in pairs)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=0, max_size=4), st.data())
def test_grids(axes, data):
    grid = Grid(tuple(n for n, _ in axes), tuple(step for _, step in axes))
    boxes = [grid.numbered(i) for i in range(len(grid))]
    assert sum(math.prod(box.shape) for box in boxes) == math.prod(grid.shape)
    assert [grid.number([a // s for a, s in zip(box.start, grid.step)]) for box in boxes] == list(range(len(grid)))
    start = tuple(data.draw(st.integers(0, n - 1)) for n in grid.shape)
    stop = tuple(data.draw(st.integers(a + 1, n)) for a, n in zip(start, grid.shape))
    box = Box(start, stop)
    met = [grid.box(index) for index in grid.meeting(box)]
    assert met == [each for each in boxes if all(n > 0 for n in each.common(box).shape)]


@settings(max_examples=60)
@given(st.lists(st.tuples(extents, extents, extents), min_size=1, max_size=3), st.integers(1, 5000))
def test_boxes_are_of_whole_units_and_fit(axes, most):
    shape, unit, other = (tuple(each) for each in zip(*[(n, min(u, n), min(o, n)) for n, u, o in axes]))
    box = largest_box(shape, unit, other, most, lambda k, b: covered(shape[k], b, other[k]), most)
    if box is None:
        assert math.prod(unit) > most
    else:
        assert math.prod(box) <= most
        assert all(b == n or b % u == 0 for b, n, u in zip(box, shape, unit))


def side(chunks, factor=1, **options):
    return Side(chunks, 4, factor * 4 * math.prod(chunks), **options)


def test_one_stage_where_the_memory_allows_it():
    shape = (4000, 1000, 1000)
    (stage,) = stages_of(shape, side((100, 100, 100)), side((4000, 50, 50)), 1 << 30)
    assert stage.bytes_read == stage.bytes_written == 4 * math.prod(shape)
    assert stage.pieces_read == 4000 and stage.pieces_written == 400
    assert stage.memory <= 1 << 30


def test_two_stages_where_it_does_not():
    shape = (8760, 721, 1440)
    first, second = stages_of(shape, side((1, 721, 1440)), side((8760, 72, 144)), 1 << 30)
    assert first.pieces_read == 8760 and first.pieces_written == second.pieces_read
    assert first.box[0] % 1 == 0 and first.box[1:] == (721, 1440)
    assert second.pieces_written == 11 * 10 and max(first.memory, second.memory) <= 1 << 30
    # Chunks that are computed are never computed twice.
    small = side((1, 721, 1440), whole=True)
    assert sum(stage.bytes_read for stage in stages_of(shape, small, side((100, 721, 1440)), 1 << 30)) == 4 * math.prod(shape)


def test_more_memory_never_moves_more():
    shape, source, target = (1000, 300, 400), side((1, 300, 400)), side((1000, 30, 40))
    moved = [planning._moved(stages_of(shape, source, target, m << 20)) for m in (16, 32, 64, 256, 1024)]
    assert moved == sorted(moved, reverse=True) and moved[-1] == 2 * 4 * math.prod(shape)


def test_fewer_at_a_time_where_that_moves_less():
    shape, source, target = (1000, 300, 400), side((1, 300, 400)), side((1000, 30, 40))
    number, stages = choose(shape, source, target, 600 << 20, 4)
    assert len(stages) == 1 and number < 4


def test_what_would_fit_is_said_and_fits():
    shape, source = (1000, 1000, 1000), side((10, 10, 10))
    with pytest.raises(ValueError, match=r"chunks = \(500, 500, 500\) need .* would fit") as error:
        choose(shape, source, side((500, 500, 500)), 64 << 20, 2)
    fitting = tuple(map(int, str(error.value).split("chunks of (")[1].split(")")[0].split(", ")))
    assert choose(shape, source, side(fitting), 64 << 20, 2)[1]


def test_on_paper():
    """100 TB on many workers: a plan takes no time, and says what it costs."""
    shape = (365 * 24 * 2000, 721, 1440)
    number, stages = choose(shape, side((1, 721, 1440)), side((8760, 72, 144), 0), 8 << 30, 4)
    plan = planning.RechunkPlan("a", "b", shape, (0, 1, 2), "float32", (1, 721, 1440), (8760, 72, 144), number, 8 << 30, stages)
    assert plan.bytes_moved == 4 * 4 * math.prod(shape)
    assert plan.seconds(200) == pytest.approx(plan.seconds(100) / 2, rel=0.01)
    assert "2 stages" in str(plan) and "TiB" in str(plan)
