"""What the reference says of Layout, Swizzle and Conversion, for random ones and every coordinate."""

import random

import pytest

import cornerturn
from cornerturn import Layout, Swizzle, convert_swizzle


def shape(choose, depth=2):
    if depth == 0 or choose.random() < 0.5:
        return choose.choice([1, 2, 2, 3, 4, 4, 6, 8])
    return tuple(shape(choose, depth - 1) for _ in range(choose.randint(1, 3)))


def stride_like(choose, extents, strides):
    if isinstance(extents, tuple):
        return tuple(stride_like(choose, part, strides) for part in extents)
    return choose.choice(strides)


def layout(choose, strides=(0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)):
    extents = shape(choose)
    made = Layout(extents) if choose.random() < 0.3 else Layout(extents, stride_like(choose, extents, strides))
    return made if made.size <= 2000 else layout(choose, strides)


def swizzle(choose):
    bits = choose.randint(1, 3)
    return Swizzle(bits, choose.randint(0, 4), choose.choice((-1, 1)) * choose.randint(bits, 5))


def leaves(extents, strides):
    if not isinstance(extents, tuple):
        return [(extents, strides)]
    return [leaf for pair in zip(extents, strides, strict=True) for leaf in leaves(*pair)]


def plain(of, number):
    """The offset of a coordinate that is one number, as the notation says it."""
    offset = of.offset
    for extent, stride in leaves(of.shape, of.stride):
        offset += number % extent * stride
        number //= extent
    return swizzled(of.swizzle, offset) if of.swizzle else offset


def swizzled(by, offset):
    """As the class says it: bits from base + shift on are xor-ed into those from base on."""
    low = (1 << by.bits) - 1
    if by.shift >= 0:
        return offset ^ (((offset >> (by.base + by.shift)) & low) << by.base)
    return offset ^ (((offset >> by.base) & low) << (by.base - by.shift))


def coordinate(extents, number):
    """That coordinate, a number a mode, nested like the shape."""
    if not isinstance(extents, tuple):
        return number
    parts = []
    for part in extents:
        count = size_of(part)
        parts.append(coordinate(part, number % count))
        number //= count
    return tuple(parts)


def size_of(extents):
    size = 1
    for extent, _ in leaves(extents, extents):
        size *= extent
    return size


def test_the_offset_of_a_coordinate():
    choose = random.Random(1)
    for _ in range(300):
        a = layout(choose)
        if choose.random() < 0.3:
            a = swizzle(choose) @ a
        offsets = [plain(a, i) for i in range(a.size)]
        assert a.size == size_of(a.shape) and max(offsets) < a.cosize
        for i in choose.sample(range(a.size), min(a.size, 20)):
            nested = coordinate(a.shape, i)
            assert a(i) == offsets[i] and a(*(nested if isinstance(nested, tuple) else (nested,))) == offsets[i]
        if a.rank == 2:
            rows = a.offsets()
            assert [row[j] for j in range(len(rows[0])) for row in rows] == offsets
        assert Layout(str(a)) == a and hash(Layout(str(a))) == hash(a)
        for wrong in (-1, a.size):
            with pytest.raises(ValueError, match="is out of range for extent"):
                a(wrong)


def test_composition():
    choose = random.Random(2)
    refused = held = 0
    while held < 500:
        a, b = layout(choose), layout(choose, (0, 1, 1, 2, 3, 4, 6, 8))
        if choose.random() < 0.3:
            a = swizzle(choose) @ a
        try:
            c = a @ b
        except ValueError:
            refused += 1
            continue
        held += 1
        assert c.size == b.size and c.swizzle == a.swizzle
        for i in range(b.size):
            nested = coordinate(b.shape, i)
            assert c(i) == plain(a, b(i)), (a, b)
            assert c(*(nested if isinstance(nested, tuple) else (nested,))) == c(i)
    assert refused > 100


@pytest.mark.parametrize(
    "a, b, text",
    [
        ("(4,4):(1,100)", "(2,3):(2,1)", "the modes of the second layout together reach index 4 in a mode of the first with extent 4"),
        ("(4,1):(1,0)", "6:1", "6:1 reaches offset 5, but (4,1):(1,0) has coordinates from 0 to 3"),
        ("8:1", "4:-1", "4:-1 reaches offset -3, but 8:1 has coordinates from 0 to 7"),
        ("(4,8):(8,1)", "4:3", "neither of stride 3 and extent 4 divides the other"),
        ("8:1", "Swizzle<1,0,1> o 8:1", "only layouts without a swizzle go in front of another"),
    ],
)  # fmt: skip
def test_compositions_that_no_layout_does(a, b, text):
    with pytest.raises(ValueError) as caught:
        Layout(a) @ Layout(b)
    assert text in str(caught.value)


def test_swizzles():
    choose = random.Random(3)
    for _ in range(300):
        by = swizzle(choose)
        a = layout(choose)
        assert (by @ a) == by.of(a) == by.of(str(a)) and (by @ a).swizzle == by
        for i in choose.sample(range(a.size), min(a.size, 20)):
            assert (by @ a)(i) == by(a(i)) == swizzled(by, a(i)) and by(by(a(i))) == a(i)
    with pytest.raises(ValueError, match="reaches offset -3: offsets under a swizzle are not negative"):
        Swizzle(1, 0, 1) @ Layout("4:-1")
    with pytest.raises(ValueError, match="reaches offset -3: offsets under a swizzle are not negative"):
        Layout("Swizzle<1,0,1> o 4:-1")


def test_cosize_counts_from_the_lowest_offset_to_the_highest():
    choose = random.Random(4)
    for _ in range(300):
        a = layout(choose, (-4, -1, 0, 1, 2, 5))
        offsets = [plain(a, i) for i in range(a.size)]
        assert a.cosize == max(offsets) - min(offsets) + 1


def test_conversions():
    choose = random.Random(5)
    for _ in range(300):
        by, size = swizzle(choose), choose.choice([1, 2, 4, 8, 16])
        dtype = {1: "uint8", 2: "float16", 4: "float32", 8: "float64", 16: "complex128"}[size]
        row = choose.choice([0, 16, 64, 128])
        said = convert_swizzle(by, dtype, row=row)
        assert said.itemsize == size and said.cute == by
        for offset in choose.sample(range(4096), 20):
            byte = choose.randrange(size)
            assert said.bytes(offset * size + byte) == by(offset) * size + byte
            if said.triton is not None:
                line, column = divmod(offset, row)
                phase = line // said.triton["per_phase"] % said.triton["max_phase"]
                chunk, rest = divmod(column, said.triton["vec"])
                assert by(offset) == line * row + (chunk ^ phase) * said.triton["vec"] + rest
        again = convert_swizzle(f"bytes:{said.bytes}", dtype, row=row)
        assert again.cute == by and again.bytes == said.bytes
        for other in ("uint8", "float32", "complex128"):
            recast = said.recast(other)
            assert recast.bytes == said.bytes
            if recast.cute is not None:
                assert all(recast.cute(i) * recast.itemsize == said.bytes(i * recast.itemsize) for i in range(512))
        if said.triton is not None:
            numbers = ",".join(str(said.triton[name]) for name in ("vec", "per_phase", "max_phase"))
            assert convert_swizzle(f"triton:{numbers}", dtype, row=row).bytes == said.bytes
        if said.tma is not None and said.tma != "none":
            assert convert_swizzle(f"tma:{said.tma}", dtype).bytes == said.bytes


def test_solve_gives_the_layout_that_it_says():
    choose, tile = random.Random(6), Layout((64, 64), (64, 1))
    found = cornerturn.solve((64, 64), "float32", vector=16)
    assert found.layout == Swizzle(3, 2, 6) @ tile
    for _ in range(50):
        row, column = choose.randrange(64), choose.randrange(64)
        assert found.best(row, column) == found.layout(row, column) == found.layout.swizzle(tile(row, column))


@pytest.mark.parametrize("text", ["(" * 40000, "(" + "8," * 20000, "(8,8):(8,1)" + "x" * 40000])
def test_a_long_text_is_not_repeated(text):
    with pytest.raises(ValueError) as caught:
        Layout(text)
    assert len(str(caught.value)) < 200 and "character " in str(caught.value)
