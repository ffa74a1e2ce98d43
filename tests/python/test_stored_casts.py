"""Blocks that are already there, transposed as they are stored; scales in other layouts; blocks of groups."""

import re

import numpy as np
import pytest

import cornerturn
from cast_numbers import codes, numbers
from cornerturn._blocks import FORMATS, LAYOUTS

pytest.importorskip("ml_dtypes")


@pytest.mark.parametrize("format", [row.name for row in FORMATS.values() if row.across > 1])
def test_square_blocks_are_transposed_as_they_are_stored(format):
    x = numbers((256, 384), 7)
    values, scales = cornerturn.quantise(x, format)
    expected, of_scales = cornerturn.quantise(x, format, (1, 0))
    values, scales = cornerturn.transpose_blocks(values, scales, format)
    np.testing.assert_array_equal(codes(values), codes(expected))
    np.testing.assert_array_equal(scales, of_scales)


@pytest.mark.parametrize("format", [row.name for row in FORMATS.values() if not row.packed and row.across == 1])
def test_lines_are_transposed_where_every_value_can_stay(format):
    row, random = FORMATS[format], np.random.default_rng(7)
    given = {"tensor_scale": 2.0} if format == "nvfp4" else {}
    # Values that stay with half of their scale's square: 2 or 3 steps of a largest magnitude that is the same.
    x = random.choice([-3.0, -2.0, 2.0, 3.0], (2 * row.along, 3 * row.along)).astype(np.float32)
    x[:, :: row.along] = 3
    x *= np.float32(2.0) ** random.integers(0, 2, (len(x), 1))
    values, scales = cornerturn.quantise(x, format, scale=None if format == "nvfp4" else "ceil", **given)[:2]
    turned, of_turned = cornerturn.transpose_blocks(values, np.asfortranarray(scales), format)
    back = cornerturn.dequantise(turned, format, scales=of_turned, **given)
    np.testing.assert_array_equal(back, cornerturn.dequantise(values, format, (1, 0), scales=scales, **given))
    assert of_turned.shape == (x.shape[1], 2) and of_turned.flags.c_contiguous


def test_blocks_that_cannot_be_transposed_are_named():
    values, scales = cornerturn.quantise(numbers((128, 128)), "mxfp8_e4m3")
    with pytest.raises(RuntimeError, match=r"format = mxfp8_e4m3: value \(\d+, \d+\) cannot stay what it is"):
        cornerturn.transpose_blocks(values, scales, "mxfp8_e4m3")
    with pytest.raises(ValueError, match=r"src_scales.shape = \(128, 4\) has to be \(1, 1\)"):
        cornerturn.transpose_blocks(values, scales.astype(np.float32), "fp8_128x128")
    with pytest.raises(ValueError, match="40 values are no multiple of 32, a block of mxfp8_e4m3"):
        cornerturn.transpose_blocks(values[:40], scales[:40], "mxfp8_e4m3")


@pytest.mark.parametrize("shape", [(128, 512), (130, 224), (33, 96), (256, 416), (1, 32)])
def test_scales_are_brought_to_other_layouts(shape):
    x = numbers(shape, 8)
    count = shape[1] // 32
    made = {layout: cornerturn.quantise(x, "mxfp8_e4m3", scale_layout=layout)[1] for layout in LAYOUTS}
    for layout, scales in made.items():
        for to, expected in made.items():
            got = cornerturn.convert_scales(scales, to, layout=layout, shape=(shape[0], count))
            assert got.shape == expected.shape and got.dtype == expected.dtype
            assert got.shape[0] == 1 or got.strides == expected.strides
            np.testing.assert_array_equal(got, expected)


def test_scales_of_pytorch_are_brought_to_other_layouts():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(numbers((130, 224), 9))
    made = {layout: cornerturn.quantise(x, "mxfp8_e4m3", scale_layout=layout)[1] for layout in LAYOUTS}
    for layout, scales in made.items():
        for to, expected in made.items():
            got = cornerturn.convert_scales(scales, to, layout=layout, shape=(130, 7))
            assert got.dtype == expected.dtype and got.stride() == expected.stride()
            assert torch.equal(got, expected)


def test_scales_that_do_not_fit_are_named():
    scales = np.zeros((128, 4), np.float32)
    with pytest.raises(ValueError, match="to = 'tiles_128x4': scales of 4 bytes each, not bytes"):
        cornerturn.convert_scales(scales, "tiles_128x4")
    with pytest.raises(ValueError, match="shape = None: scales in 'tiles_128x4'"):
        cornerturn.convert_scales(scales, "packed", layout="tiles_128x4")
    with pytest.raises(ValueError, match=r"scales.shape = \(128, 4\) has to be \(512,\)"):
        cornerturn.convert_scales(scales, "packed", layout="tiles_128x4", shape=(100, 4))
    with pytest.raises(ValueError, match="to = 'rows' is none of 'packed', 'padded'"):
        cornerturn.convert_scales(scales, "rows")


def each_group(x, sizes, format, axes, **given):
    """Every group by itself, put together along the axis of the groups."""
    ends = np.cumsum(sizes)
    parts = [cornerturn.quantise(x[end - size : end], format, axes, **given) for size, end in zip(sizes, ends)]
    if FORMATS[format].packed:
        parts = [(part,) for part in parts]
    joined = []
    for arrays in list(zip(*parts))[:2]:
        joined.append(np.concatenate([codes(np.ascontiguousarray(a)) for a in arrays], axis=0 if axes is None else -1))
    return joined


SIZES = [[70, 0, 128, 33, 1], [128], [256, 128]]


@pytest.mark.parametrize("axes", [None, (1, 0)], ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_groups_are_what_each_is_by_itself(format, axes):
    given = {"pad": True, **({"tensor_scale": 3.0} if format == "nvfp4" else {})}
    for sizes in SIZES:
        x = numbers((sum(sizes), 256), 11)
        made = cornerturn.quantise_groups(x, sizes, format, axes, **given)
        expected = each_group(x, sizes, format, axes, **given)
        for a, b in zip(made if isinstance(made, tuple) else (made,), expected):
            assert a.shape == b.shape or a.dtype == np.float32
            np.testing.assert_array_equal(codes(np.ascontiguousarray(a)), b)


@pytest.mark.parametrize("axes", [None, (1, 0)], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_scales_of_groups_lie_where_they_are_asked_for(layout, axes):
    for sizes in SIZES:
        x = numbers((sum(sizes), 224), 12)
        values, scales = cornerturn.quantise_groups(x, sizes, "mxfp4", axes, pad=True, scale_layout=layout)
        of_values, of_scales = each_group(x, sizes, "mxfp4", axes, pad=True, scale_layout=layout)
        np.testing.assert_array_equal(codes(values), of_values)
        np.testing.assert_array_equal(codes(np.ascontiguousarray(scales)), of_scales)
        if layout.startswith("mn_major"):
            assert scales.strides == (1, scales.shape[0] if layout == "mn_major" else -(-scales.shape[0] // 4) * 4)


def test_groups_that_do_not_fit_are_named():
    x = numbers((100, 128))
    for arguments, error in (
        (([64, 35],), "sizes have 99 rows together, and src.shape[0] = 100"),
        (([64, 36], "mxfp8_e4m3", (1, 0)), "sizes[1] = 36 is no multiple of 32: it is padded"),
        (([104, -4],), "sizes[1] = -4 is negative"),
        (([100], "fp8"), "format = 'fp8' is none of q8_0"),
        (([100], "mxfp8_e4m3", (0, 0)), "axes"),
    ):
        with pytest.raises(ValueError, match=re.escape(error)):
            cornerturn.quantise_groups(x, *arguments)
    with pytest.raises(ValueError, match=r"x.shape = \(100,\) has to be that of a matrix"):
        cornerturn.quantise_groups(x[:, 0], [100])
