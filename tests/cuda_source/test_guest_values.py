"""Values that a CUDA source's functions give on a CPU, against NumPy, ml_dtypes and exact fractions."""

import math
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
GUEST = HERE.parents[1] / "src/workshop/cuda_source/guest"
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
# exponent bits, fraction bits
HALF, BFLOAT16 = (5, 10), (8, 7)


@pytest.fixture(scope="module", params=COMPILERS)
def program(request, tmp_path_factory):
    """tests/cuda_source/small_floats.cu needs no launch, so that the compiler alone can build it."""
    path = tmp_path_factory.mktemp("values") / "small_floats"
    # What the runtime library defines for clang's copies of structs.
    copies = path.with_suffix(".c")
    copies.write_text(
        "#include <string.h>\n"
        "void* cornerturn_memcpy(void* a, const void* b, size_t n) { return memcpy(a, b, n); }\n"
        "void* cornerturn_memmove(void* a, const void* b, size_t n) { return memmove(a, b, n); }\n"
        "void* cornerturn_memset(void* a, int b, size_t n) { return memset(a, b, n); }\n"
    )
    compiled = path.with_suffix(".o")
    source = ["-include", "cornerturn_guest.hpp", f"-I{GUEST}", "-x", "c++", HERE / "small_floats.cu"]
    subprocess.run([request.param, "-std=c++17", "-O1", "-c", *source, "-o", compiled], check=True)
    subprocess.run([request.param, "-x", "c", copies, "-x", "none", compiled, "-lstdc++", "-lm", "-o", path], check=True)
    return path


def words_of(program, *arguments):
    return np.frombuffer(subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE).stdout, np.uint32)


def same(left, right, what):
    wrong = np.flatnonzero(left != right)
    assert wrong.size == 0, f"{what}: value {wrong[0]} of {wrong.size} wrong ones is {left[wrong[0]]:#x}, not {right[wrong[0]]:#x}"


def floats():
    """Values near and on the middles between halves and bfloat16s, special ones, and bits at random."""
    random = np.random.default_rng(7)
    every = np.arange(65536, dtype=np.uint16)
    halves = every.view(np.float16).astype(np.float32)[:: 7]
    with np.errstate(over="ignore", invalid="ignore"):
        middles = (halves[:-1].astype(np.float64) + halves[1:]).astype(np.float32) / 2
        near = [np.nextafter(middles, np.float32(side)) for side in (-np.inf, np.inf)]
    special = np.array([0, -0.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 448, 464, 465, 480, 57344, 61440, 65504, 65519, 65520, 2**-25, 1.5 * 2**-25, 3e38, -3.4e38, 1e-45, np.inf, -np.inf, np.nan], np.float32)
    bits = random.integers(0, 2**32, 60001, dtype=np.uint32).view(np.float32)
    return np.concatenate([halves, middles, *near, special, bits]).view(np.uint32)


def directed(values, kind, mode):
    """Rounded towards zero, up or down: the nearest value, or its neighbour where it lies on the wrong side."""
    nearest = values.astype(kind)
    wide = nearest.astype(np.float64)
    exact = values.astype(np.float64)
    target = {"rz": np.where(exact < 0, np.inf, -np.inf), "ru": np.full(exact.shape, np.inf), "rd": np.full(exact.shape, -np.inf)}[mode]
    wrong = np.where(target > 0, wide < exact, wide > exact) & np.isfinite(exact)
    bits = nearest.view(np.uint16).astype(np.int64)
    # The next value away from or towards zero is one more or one less of the bits without the sign.
    magnitude, sign = bits & 0x7FFF, bits & 0x8000
    outwards = (target > 0) == (exact >= 0)
    moved = np.where(magnitude == 0, 1, np.where(outwards, magnitude + 1, magnitude - 1))
    moved_sign = np.where(magnitude == 0, np.where(target > 0, 0, 0x8000), sign)
    return np.where(wrong, moved_sign | moved, bits).astype(np.uint32)


def test_every_small_value_becomes_its_float(program):
    got = words_of(program).reshape(65536, 5)
    every = np.arange(65536, dtype=np.uint16)
    kinds = [np.float16, ml_dtypes.bfloat16]
    wanted = [every.view(kind).astype(np.float32) for kind in kinds]
    byte = every.astype(np.uint8)
    wanted += [byte.view(kind).astype(np.float32) for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)]
    wanted += [(byte & 15).view(ml_dtypes.float4_e2m1fn).astype(np.float32)]
    for column, values in enumerate(wanted):
        ours = got[:, column].view(np.float32)
        assert np.array_equal(np.isnan(ours), np.isnan(values))
        number = ~np.isnan(values)
        same(got[number, column], values[number].view(np.uint32), f"column {column}")


def fraction_of(bits, form):
    exponent_bits, fraction_bits = form
    bias = 2 ** (exponent_bits - 1) - 1
    exponent, fraction = bits >> fraction_bits & (2**exponent_bits - 1), bits & (2**fraction_bits - 1)
    if exponent == 2**exponent_bits - 1:
        return None
    value = Fraction(fraction + (2**fraction_bits if exponent else 0)) * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)
    return -value if bits >> 15 else value


def rounded(value, form):
    """The bits of the nearest value, of an even one where two are as near."""
    exponent_bits, fraction_bits = form
    bias = 2 ** (exponent_bits - 1) - 1
    sign, value = (0x8000, -value) if value < 0 else (0, value)
    exponent = max(math.floor(math.log2(value)) if value else -9999, 1 - bias)
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while exponent > 1 - bias and value < Fraction(2) ** exponent:
        exponent -= 1
    units = round(value / Fraction(2) ** (exponent - fraction_bits))  # Python rounds halves to even
    bits = units + ((exponent + bias - 1) << fraction_bits)
    return sign | min(bits, (2**exponent_bits - 1) << fraction_bits)


def check_arithmetic(row, a, b, c, form):
    values = [fraction_of(bits, form) for bits in (a, b, c)]
    if None in values:
        return 0
    x, y, z = values
    results = [x + y, x - y, x * y, x / y if y else None, x * y + z]
    for name, got, wanted in zip("+ - * / fma".split(), row, results):
        if wanted:  # the signs of zeros are IEEE's, and not looked at here
            assert got == rounded(wanted, form), f"{x} {name} {y} ({z}): {got:#x}, not {rounded(wanted, form):#x}"
    root = fraction_of(int(row[5]), form)
    # x lies between the squares of the middles to the root's neighbours.
    below, above = ((root + fraction_of(int(row[5]) + step, form)) / 2 if int(row[5]) + step >= 0 else 0 for step in (-1, 1))
    assert below**2 <= abs(x) <= above**2
    if x != y:
        larger, smaller = (a, b) if x > y else (b, a)
        assert (row[6], row[7]) == (larger, smaller)
    assert list(row[8:]) == [x < y, x == y, x >= y]
    return 1


def test_conversions_and_arithmetic_round_once(program, tmp_path):
    words = floats()
    # Products of bfloat16s on a middle, to which fma adds the least value of either sign.
    words = np.concatenate([words[: words.size // 2 * 2], np.array([0x3F813F83, 0x0001, 0x3F813F83, 0x8001, 0x3C013C01, 0x0001, 0x3C013C01, 0x8001], np.uint32)])
    path = tmp_path / "words"
    path.write_bytes(words.tobytes())
    got = words_of(program, path)
    table = got[: words.size * 13].reshape(words.size, 13)
    values = words.view(np.float32)
    number = ~np.isnan(values)
    with np.errstate(over="ignore", invalid="ignore"):
        for first, kind in [(0, np.float16), (4, ml_dtypes.bfloat16)]:
            same(table[number, first], values[number].astype(kind).view(np.uint16).astype(np.uint32), f"{kind} rn")
            for offset, mode in enumerate(("rz", "ru", "rd"), 1):
                same(table[number, first + offset], directed(values[number], kind, mode), f"{kind} {mode}")
        for column, kind in [(8, ml_dtypes.float8_e4m3fn), (9, ml_dtypes.float8_e5m2)]:
            plain = values.astype(kind)
            finite = number & np.isfinite(plain.astype(np.float32))
            same(table[finite, column], plain[finite].view(np.uint8).astype(np.uint32), f"{kind}")
            beyond = number & ~finite
            most = float(ml_dtypes.finfo(kind).max)
            same(table[beyond, column + 2], np.where(np.signbit(values[beyond]), -most, most).astype(kind).view(np.uint8).astype(np.uint32), f"{kind} saturated")
            same(table[finite, column + 2], table[finite, column], f"{kind} saturated, not large")
    kind = ml_dtypes.float4_e2m1fn
    same(table[number, 12], np.clip(values[number], -6, 6).astype(kind).view(np.uint8).astype(np.uint32), f"{kind}")
    middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], np.float32)
    assert np.isin(middles, values).all() and set(table[~number, 12]) == {7}
    assert set(table[~number, 0]) == {0x7FFF} and set(table[~number, 8]) == {0x7F}

    rows = got[words.size * 13 :].reshape(-1, 2, 11)
    assert rows.shape[0] == words.size // 2
    chosen = [*range(0, rows.shape[0], 31), *range(rows.shape[0] - 4, rows.shape[0])]
    checked = 0
    for i in chosen:
        a, b, c = int(words[2 * i]) & 0xFFFF, int(words[2 * i]) >> 16, int(words[2 * i + 1]) & 0xFFFF
        checked += check_arithmetic(rows[i, 0], a, b, c, HALF) + check_arithmetic(rows[i, 1], a, b, c, BFLOAT16)
    assert checked > len(chosen)
