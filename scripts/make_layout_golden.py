#!/usr/bin/env python3
"""Writes what pycute answers on thousands of random layouts and swizzles.

usage: make_layout_golden.py > tests/maps/pycute_golden.txt
Needs pycute: pip install --no-deps nvidia-cutlass==4.2.0.0

One question a line, fields by '|': operation, operands in CuTe's notation, answer. Tiles by mode each
end in ';'. An answer of '-' means that there is none: pycute's assertions fail, or what it returns is no layout of the right size.
"""

import pycute
import pycute.layout
from pycute import Layout, Swizzle


class Random:
    """splitmix64: the same numbers with every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    def below(self, bound):
        return self.next() % bound

    def choice(self, items):
        return items[self.below(len(items))]


class NoAnswer(Exception):
    pass


plain_composition = pycute.layout.composition
plain_complement = pycute.layout.complement


def all_positive(shape):
    return all(extent > 0 for extent in pycute.flatten(shape))


def checked_composition(a, b):
    result = plain_composition(a, b)
    if isinstance(b, Layout) and (not all_positive(result.shape) or result.size() != b.size()):
        raise NoAnswer
    return result


def checked_complement(layout, max_idx=1):
    result = plain_complement(layout, max_idx)
    flat = sorted(zip(pycute.flatten(layout.stride), pycute.flatten(layout.shape)))
    reached = 1
    for stride, extent in flat:
        if stride == 0 or extent == 1:
            continue
        if stride < reached:  # pycute answers with an extent of 0
            raise NoAnswer
        reached = stride * extent
    return result


pycute.layout.composition = checked_composition
pycute.layout.complement = checked_complement


def tuple_text(value):
    if isinstance(value, tuple):
        return "(" + ",".join(tuple_text(item) for item in value) + ")"
    return str(value)


def text(value):
    if isinstance(value, Layout):
        return tuple_text(value.shape) + ":" + tuple_text(value.stride)
    if isinstance(value, tuple):
        return "".join(text(item) + ";" for item in value)
    return str(value)


EXTENTS = (1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16)


def random_shape(random, depth):
    if depth == 0 or random.below(3) == 0:
        return random.choice(EXTENTS)
    return tuple(random_shape(random, depth - 1) for _ in range(1 + random.below(3)))


def map_leaves(shape, make):
    if isinstance(shape, tuple):
        return tuple(map_leaves(item, make) for item in shape)
    return make(shape)


def compact_strides(random, shape, gaps):
    """Strides of the modes in a random order, each as far as the ones before reach."""
    extents = pycute.flatten(shape)
    order = list(range(len(extents)))
    for i in range(len(order) - 1, 0, -1):
        j = random.below(i + 1)
        order[i], order[j] = order[j], order[i]
    strides = [0] * len(extents)
    reached = 1
    for i in order:
        strides[i] = reached
        reached *= extents[i]
        if gaps and random.below(4) == 0:
            reached *= 1 + random.below(4)
    taken = iter(strides)
    return map_leaves(shape, lambda _: next(taken))


def random_layout(random, depth=2, kind=None):
    shape = random_shape(random, depth)
    kind = random.below(5) if kind is None else kind
    if kind == 0:
        return Layout(shape)
    if kind in (1, 2):
        return Layout(shape, compact_strides(random, shape, gaps=kind == 2))
    if kind == 3:
        return Layout(shape, map_leaves(shape, lambda _: random.below(20)))
    return Layout(shape, map_leaves(shape, lambda _: random.choice((0, 1, 2, 4, 8, 16, 3, 32))))


def power_layout(random, depth=2):
    """Powers of two everywhere: compositions of these mostly exist."""
    shape = map_leaves(random_shape(random, depth), lambda _: 1 << random.below(4))
    return Layout(shape, compact_strides(random, shape, gaps=False))


def answer(function, *operands):
    try:
        result = function(*operands)
    except (AssertionError, NoAnswer, IndexError, ZeroDivisionError):
        return "-"
    if not all_positive(result.shape):
        return "-"
    return text(result)


def emit(name, operands, result):
    print("|".join([name, *map(text, operands), result]))


def main():
    print("# Made by scripts/make_layout_golden.py with pycute of nvidia-cutlass 4.2.0.0. Do not edit.")
    random = Random(20)

    def either(depth=2):
        return random_layout(random, depth) if random.below(2) else power_layout(random, depth)

    for _ in range(500):
        layout = random_layout(random)
        indices = [random.below(layout.size()) for _ in range(4)]
        values = ",".join(f"{i}>{layout(i)}" for i in indices)
        emit("layout", [layout], f"{layout.size()}|{layout.cosize()}|{values}")
    for _ in range(400):
        layout = either()
        emit("coalesce", [layout], answer(pycute.layout.coalesce, layout))
    for _ in range(1000):
        a, b = either(), either()
        if random.below(3) == 0:  # a tile of a
            b = Layout(random.choice((2, 3, 4, 6, 8)), random.choice((1, 2, 4, 3, 8)))
        emit("composition", [a, b], answer(pycute.layout.composition, a, b))
    for _ in range(400):
        layout, target = either(), random.choice((1, 24, 64, 100, 512))
        emit("complement", [layout, target], answer(pycute.layout.complement, layout, target))
    for _ in range(300):
        layout = random_layout(random, kind=1 + random.below(2)) if random.below(2) else power_layout(random)
        emit("right_inverse", [layout], answer(pycute.layout.right_inverse, layout))
        emit("left_inverse", [layout], answer(pycute.layout.left_inverse, layout))

    def tile():
        return Layout(random.choice((1, 2, 4, 8, 3)), random.choice((1, 1, 2, 4)))

    for name in ("logical_divide", "zipped_divide", "tiled_divide",
                 "logical_product", "zipped_product", "tiled_product"):
        function = getattr(pycute.layout, name)
        done = 0
        while done < 120:
            layout = power_layout(random) if random.below(3) else random_layout(random)
            if random.below(2) == 0:
                operand = tile() if random.below(2) else power_layout(random, 1)
            else:
                if not isinstance(layout.shape, tuple):
                    continue
                operand = tuple(tile() for _ in range(1 + random.below(len(layout))))
            done += 1
            emit(name, [layout, operand], tiled_answer(name, function, layout, operand))
    for _ in range(800):
        bits = random.below(6)
        shift = max(1, bits + random.below(5))  # pycute never ends for a shift of 0
        swizzle = Swizzle(bits, random.below(6), shift if random.below(2) else -shift)
        offset = random.below(1 << 16)
        emit("swizzle", [f"Swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}>", offset],
             f"{swizzle(offset)}|{swizzle.size()}")


def tiled_answer(name, function, layout, operand):
    if not name.startswith("tiled"):
        return answer(function, layout, operand)

    def tiled(a, b):  # as pycute, whose own version fails when the rest is one number
        zipped = getattr(pycute.layout, name.replace("tiled", "zipped"))(a, b)
        rest = zipped[1]
        modes = [rest[i] for i in range(len(rest))] if isinstance(rest.shape, tuple) else [rest]
        return pycute.layout.make_layout([zipped[0]] + modes)

    return answer(tiled, layout, operand)


if __name__ == "__main__":
    main()
