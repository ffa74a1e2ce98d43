"""torch.compile and torch.export as a program meets them that has called nothing before: every test works in
a process of its own, where no cache is warm. All are forked from one that has imported PyTorch and Dynamo,
which takes seconds, and has called nothing."""

import json
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch")

HEAD = """
import warnings
warnings.simplefilter("error")  # Dynamo warns of what it cannot trace
import torch, cornerturn

def compiled(function, **options):
    return torch.compile(function, fullgraph=True, backend="eager", **options)

def same(got, want):
    got, want = (torch.utils._pytree.tree_leaves(value) for value in (got, want))
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.dtype == b.dtype and a.shape == b.shape, (a, b)
        assert torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))

"""


FORKS = """
import json, os, sys, traceback, torch, torch._dynamo, cornerturn
for line in sys.stdin:
    read, write = os.pipe()
    if os.fork() == 0:
        said = ""
        try:
            exec(json.loads(line), {"__name__": "__main__"})
        except BaseException:
            said = traceback.format_exc()
        os.write(write, said[-3000:].encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as end:
        said = end.read()
    status = os.wait()[1]
    print(json.dumps(said or ("" if status == 0 else f"ended with status {status}")), flush=True)
"""


@pytest.fixture(scope="module")
def fresh():
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run(code):
        process.stdin.write(json.dumps(HEAD + textwrap.dedent(code)) + "\n")
        process.stdin.flush()
        said = process.stdout.readline()
        assert said and json.loads(said) == "", said and json.loads(said)

    yield run
    process.stdin.close()
    process.wait(timeout=60)


def test_rearrange_is_the_first_call(fresh):
    fresh(
        """
        x = torch.randn(4, 6)
        turn = lambda t: cornerturn.rearrange(t, "a (b c) -> c b a", b=2)
        same(compiled(turn)(x), x.reshape(4, 2, 3).permute(2, 1, 0))
        many = compiled(turn, dynamic=True)
        for rows in (3, 5):
            y = torch.randn(rows, 8)
            same(many(y), y.reshape(rows, 2, 4).permute(2, 1, 0))
        from torch._dynamo.testing import CompileCounter
        counter = CompileCounter()
        lengths = lambda t: cornerturn.rearrange(t, "(a b) c -> c b a", a=t.shape[1])
        many = torch.compile(lengths, fullgraph=True, backend=counter)
        for columns in (3, 4, 5, 6, 7):
            y = torch.randn(2 * columns, columns)
            same(many(y), y.reshape(columns, 2, columns).permute(2, 1, 0))
        assert counter.frame_count == 2, counter.frame_count  # once as it comes, once for all sizes
        same(compiled(lambda t: cornerturn.rearrange([t, t], "n a b -> b n a"))(x), torch.stack([x.T, x.T], 1))
        try:
            torch.compile(lambda t: cornerturn.rearrange(t, "a b -> a"), backend="eager")(x)
        except ValueError as error:
            assert "Identifiers only on one side" in str(error), error
        else:
            raise AssertionError("a wrong pattern was taken")
        """
    )


def test_rearrange_and_conversions_are_exported_first(fresh):
    fresh(
        """
        class Turn(torch.nn.Module):
            def forward(self, x):
                y = cornerturn.rearrange(x, "a (b c) -> c b a", b=2)
                return cornerturn.transpose(y, dtype="bfloat16", scale=2.0)

        x = torch.randn(4, 6)
        want = cornerturn.transpose(x.reshape(4, 2, 3).permute(2, 1, 0), dtype="bfloat16", scale=2.0)
        for strict in (True, False):
            program = torch.export.export(Turn(), (x,), strict=strict)
            assert "permute_convert" in program.graph_module.code
            same(program.module()(x), want)
        """
    )


def test_every_conversion_is_the_first_call(fresh):
    fresh(
        """
        import numpy
        cornerturn.contiguous(numpy.ones((2, 3)).T, dtype="f4")  # another framework's arrays were there before
        x = torch.randn(4, 64)
        first = compiled(lambda t: cornerturn.quantise(t))(x)
        same(first, cornerturn.quantise(x))
        rows, columns = torch.randn(64, 1), torch.randn(4)
        blocks = cornerturn.quantise(x)
        values, codes = cornerturn.quantise(x, "mxfp8_e4m3")
        whole, factor = cornerturn.quantise(x, "tensor_i8")
        for function in (
            lambda t: cornerturn.transpose(t, (1, 0), dtype="bfloat16"),
            lambda t: cornerturn.transpose(t, (1, 0), dtype=torch.float8_e5m2, saturate=True),
            lambda t: cornerturn.transpose(t, dtype=numpy.float16),
            lambda t: cornerturn.transpose(t, scale=rows, bias=columns),
            lambda t: cornerturn.transpose(t, scale=2.0, bias=1, alpha=0.5),
            lambda t: cornerturn.transpose(t, dtype="bfloat16", rounding="stochastic", seed=2**64 - 1),
            lambda t: cornerturn.contiguous(t, dtype="float64"),
            lambda t: cornerturn.contiguous(t.T),
            lambda t: cornerturn.quantise(t),
            lambda t: cornerturn.quantise(t, "mxfp8_e4m3", (1, 0), axis=0, scale="ceil"),
            lambda t: tuple(cornerturn.quantise_both(t, pad=True)),
            lambda t: (t + 1, cornerturn.dequantise(blocks, axes=(1, 0))),
            lambda t: (t + 1, cornerturn.dequantise(whole, "tensor_i8", scales=factor)),
            lambda t: (t + 1, cornerturn.dequantise(values, "mxfp8_e4m3", scales=codes)),
        ):
            torch._dynamo.reset()
            same(compiled(function)(x), function(x))
        def into(t):
            out = torch.ones(64, 4)
            cornerturn.transpose(t, out=out, alpha=2.0, beta=3.0)
            cornerturn.copy(out, out.clone() * 2)
            return out
        same(compiled(into)(x), into(x))

        # A number that depends on data ends a graph, as Tensor.item() does.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for function in (lambda t: t * cornerturn.amax(t), lambda t: cornerturn.quantise(t, "tensor_i8")[0]):
                same(torch.compile(function, backend="eager")(x), function(x))
        """
    )


def test_gradients_of_compiled_conversions(fresh):
    fresh(
        """
        warnings.simplefilter("default")
        x = torch.randn(4, 6, requires_grad=True)
        def loss(t):
            y = cornerturn.transpose(cornerturn.rearrange(t, "a (b c) -> a c b", b=2), dtype="float64", scale=3.0)
            return (y**2).sum()
        for backend in ("eager", "aot_eager"):
            got = torch.autograd.grad(torch.compile(loss, fullgraph=True, backend=backend)(x), x)[0]
            assert torch.allclose(got, 18 * x)
        def into(t):
            out = torch.zeros(6, 4)
            cornerturn.transpose(t, out=out, scale=2.0)
            return out + 1
        same(torch.compile(into, fullgraph=True, backend="aot_eager")(x.detach()), 2 * x.detach().T + 1)
        """
    )
