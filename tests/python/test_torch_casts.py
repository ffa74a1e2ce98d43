"""Casts of PyTorch's tensors: products of what they give, torch.compile, the rules of torch._scaled_mm, and torchao."""

import re
from pathlib import Path

import numpy as np
import pytest

import cornerturn
from cornerturn._blocks import FORMATS

torch = pytest.importorskip("torch")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "casts.md"
WITH_SCALES = [row.name for row in FORMATS.values() if not row.packed]
# By how much a product of normal numbers may be off, as a share: twice the usual rounding error of a value, and some.
ERROR = {"float8_e4m3fn": 0.05, "float8_e5m2": 0.1, "uint8": 0.2}


def operands():
    random = torch.Generator().manual_seed(4)
    return (torch.randn(shape, generator=random).to(torch.bfloat16) for shape in ((256, 384), (128, 384)))


def close(got, want, share):
    assert got.shape == want.shape
    assert (got.float() - want).norm() <= share * want.norm()


def lines_of_the_page():
    """Those for any device, and those for a GPU."""
    every, gpu = (block for block in re.findall(r"^```python\n(.*?)```", PAGE.read_text(), re.M | re.S) if "_mm(" in block)
    return every, gpu


@pytest.mark.skipif(not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0), reason="no GPU of sm_90")
def test_the_lines_of_the_page_multiply_blocks_on_gpu():
    x, w = (torch.randn(shape, device="cuda").to(torch.bfloat16) for shape in ((256, 512), (128, 512)))
    names = {"torch": torch, "cornerturn": cornerturn, "x": x, "w": w}
    exec(lines_of_the_page()[1], names)
    close(names["y"], x.float() @ w.float().T, ERROR["float8_e4m3fn"])


def test_the_lines_of_the_page_multiply():
    lines, _ = lines_of_the_page()
    x, w = operands()
    g = torch.randn(256, 128, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(5))
    names = {"torch": torch, "cornerturn": cornerturn, "x": x, "w": w, "g": g}
    exec(lines, names)
    close(names["y"], x.float() @ w.float().T, ERROR["float8_e4m3fn"])
    close(names["dw"], g.float().T @ x.float(), ERROR["float8_e4m3fn"])


@pytest.mark.parametrize("format", WITH_SCALES)
def test_products_of_both_copies(format):
    x, w = operands()
    given = {"tensor_scale": 2688.0 / 5} if format == "nvfp4" else {}
    both, of_w = (cornerturn.quantise(t, format, both=True, **given) for t in (x, w))
    back = lambda values, scales: cornerturn.dequantise(values, format, scales=scales, **given)  # noqa: E731
    share = ERROR[FORMATS[format].dtype]
    rows, columns = back(both.rows, both.row_scales), back(both.columns, both.column_scales)
    close(rows @ back(of_w.rows, of_w.row_scales).T, x.float() @ w.float().T, share)
    close(columns @ rows, x.float().T @ x.float(), share)


@pytest.mark.parametrize("format", WITH_SCALES)
def test_compiled_without_a_break(format):
    x, _ = operands()
    given = {"tensor_scale": 3.0} if format == "nvfp4" else {}
    layout = "mn_major_padded" if FORMATS[format].scales == "float32" else "tiles_128x4"

    def casts(t):
        first = cornerturn.quantise(t, format, (1, 0), **given)
        return (*first[:2], *cornerturn.quantise(t + 1, format, both=True, scale_layout=layout, **given))

    torch._dynamo.reset()
    got = torch.compile(casts, fullgraph=True, backend="aot_eager")(x)
    for a, b in zip(got, casts(x), strict=True):
        assert a.dtype == b.dtype and a.stride() == b.stride()
        assert torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def test_what_is_there_is_compiled_as_well():
    x, _ = operands()
    values, scales = cornerturn.quantise(x, "fp8_128x128")

    def casts(t, values, scales):
        codes = cornerturn.quantise(t, "mxfp8_e4m3")[1]
        groups = cornerturn.quantise_groups(t, [100, 156], "mxfp4", (1, 0), pad=True, scale_layout="tiles_128x4")
        tiles = cornerturn.convert_scales(codes, "tiles_128x4")
        return (*groups, tiles, *cornerturn.transpose_blocks(values, scales, "fp8_128x128"))

    torch._dynamo.reset()
    got = torch.compile(casts, fullgraph=True, backend="aot_eager")(x, values, scales)
    for a, b in zip(got, casts(x, values, scales), strict=True):
        assert a.dtype == b.dtype and a.stride() == b.stride()
        assert torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def test_scaled_mm_takes_what_casts_give():
    """By the rules that PyTorch checks before a GPU multiplies: dtypes, shapes and strides."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    bytes_of = {"mxfp8_e4m3": torch.float8_e8m0fnu, "nvfp4": torch.float8_e4m3fn}

    def cast(t, format):
        given = {"scale_layout": "tiles_128x4"} if format in bytes_of else {}
        values, scales = cornerturn.quantise(t, format, **given, **({"tensor_scale": 1.0} if format == "nvfp4" else {}))[:2]
        if format in bytes_of:
            scales = scales.view(bytes_of[format])
        return values.view(torch.float4_e2m1fn_x2) if format == "nvfp4" else values, scales

    with FakeTensorMode():
        x, w = (torch.empty(n, 384, dtype=torch.bfloat16, device="cuda") for n in (256, 128))
        for left, right in (("fp8_1x128", "fp8_1x128"), ("fp8_1x128", "fp8_128x128"), ("mxfp8_e4m3",) * 2, ("nvfp4",) * 2):
            (a, of_a), (b, of_b) = cast(x, left), cast(w, right)
            y = torch._scaled_mm(a, b.t(), of_a, of_b if of_b.dim() == 1 else of_b.t(), out_dtype=torch.bfloat16)
            assert y.shape == (256, 128)
        assert cornerturn.quantise(x, "fp8_1x128")[1].stride() == (1, 256)
        with pytest.raises(RuntimeError):
            torch._scaled_mm(a, b.t(), of_a[:-1], of_b, out_dtype=torch.bfloat16)


TORCHAO = {"mxfp8_e4m3": "float8_e4m3fn", "mxfp8_e5m2": "float8_e5m2", "mxfp4": "float4_e2m1fn_x2"}


@pytest.mark.parametrize("rule, mode", [("floor", "FLOOR"), ("ceil", "RCEIL"), ("even", "EVEN")])
@pytest.mark.parametrize("format", TORCHAO)
def test_mx_is_torchaos(format, rule, mode):
    mx = pytest.importorskip("torchao.prototype.mx_formats.mx_tensor")
    x = torch.from_numpy(np.random.default_rng(7).standard_normal((70, 352)).astype(np.float32))
    x *= 10.0 ** torch.arange(-9, 9).repeat(4)[:70, None]
    x[5] = 0
    scales, values = mx.to_mx(x, getattr(torch, TORCHAO[format]), 32, mx.ScaleCalculationMode[mode])
    got, codes = cornerturn.quantise(x, format, scale=rule)
    assert torch.equal(codes, scales.view(torch.uint8).reshape(codes.shape))
    assert torch.equal(got.view(torch.uint8), values.view(torch.uint8).reshape(got.shape))


def test_nvfp4_is_torchaos():
    nv = pytest.importorskip("torchao.prototype.mx_formats.nvfp4_tensor")
    x = torch.from_numpy(np.random.default_rng(8).standard_normal((70, 352)).astype(np.float32))
    scales, values = nv.nvfp4_quantize(x, per_tensor_scale=torch.tensor(2.0**-9))
    got, codes, _ = cornerturn.quantise(x, "nvfp4", tensor_scale=2.0**9)
    assert torch.equal(codes, scales.view(torch.uint8).reshape(codes.shape))
    assert torch.equal(got, values.view(torch.uint8).reshape(got.shape))


def test_tiles_of_groups_are_torchaos():
    quant = pytest.importorskip("torchao.prototype.moe_training.kernels.mxfp8.quant")
    sizes = [96, 0, 128, 160, 32]
    x = torch.from_numpy(np.random.default_rng(9).standard_normal((sum(sizes), 384)).astype(np.float32))
    ends = torch.tensor(np.cumsum(sizes))
    for axes, in_tiles, offsets in (
        ((0, 1), quant.torch_to_blocked_2d_M_groups, ends),
        ((1, 0), quant.torch_to_blocked_2d_K_groups, ends // 32),
    ):
        codes = cornerturn.quantise(x, "mxfp8_e4m3", axes)[1]
        expected = in_tiles(codes, offsets)[0].reshape(-1)  # with room for more behind them
        got = cornerturn.quantise_groups(x, sizes, "mxfp8_e4m3", axes, scale_layout="tiles_128x4")[1]
        assert torch.equal(got, expected[: got.numel()]) and not expected[got.numel() :].any()
