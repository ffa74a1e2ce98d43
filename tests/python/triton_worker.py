"""The Triton rungs on the CPU, in a process of their own: Triton decides when it is imported whether
it interprets, and other tests need it otherwise.

    triton_worker.py interpret    every case of CASES in Triton's interpreter
    triton_worker.py compile      every kernel compiled for an H100, which takes no GPU

Prints JSON: {case: what went wrong, or null}; for `compile` {rung: the widths of its accesses}.
"""

import importlib
import json
import os
import re
import sys
import traceback

RUNGS = ["triton_1d", "triton_2d", "triton_trans_1x1", "triton_block", "triton_block_tuned"]
BLOCKS = ["triton_block", "triton_block_tuned"]
DTYPES = ["float32", "uint8", "bfloat16", "float64"]
SMALL = [(1, 1), (1, 7), (7, 1), (5, 7)]
LARGE = [(32, 32), (33, 31), (1, 70), (70, 1), (100, 36), (127, 65), (64, 96)]


def solved(rung, rows, cols, dtype):
    import torch

    dtype = getattr(torch, dtype)
    size = rows * cols * dtype.itemsize
    bits = torch.randint(0, 256, (size,), dtype=torch.uint8, generator=torch.Generator().manual_seed(size))
    # Room behind the output, which must stay as it is.
    room = torch.full((size + 256,), 0xA5, dtype=torch.uint8)
    room[:size] = 255 - bits
    source = bits.clone().view(dtype).view(rows, cols)
    module(rung).solve(source, room[:size].view(dtype).view(cols, rows), rows, cols)
    words = bits.view(rows, cols, dtype.itemsize) if size else bits.view(rows, cols, 1)
    assert torch.equal(room[:size], words.transpose(0, 1).reshape(-1)), "b is not a's transpose"
    assert (room[size:] == 0xA5).all(), "something was written behind b"
    assert torch.equal(source.view(torch.uint8).view(-1), bits), "a was changed"


def called(rung, make):
    """As cornerturn.ladder.<rung>(a, b), by arrays of `make`."""
    import numpy
    import torch

    import cornerturn.ladder

    a = numpy.arange(15 * 22, dtype="f4").reshape(15, 22)
    b = numpy.zeros((22, 15), "f4")
    a.flags.writeable = False
    if make == "torch":
        tensors = torch.tensor(a).requires_grad_(), torch.from_numpy(b)
        with torch.no_grad():
            getattr(cornerturn.ladder, rung)(*tensors)
    else:
        getattr(cornerturn.ladder, rung)(a, b)
    assert (b == a.T).all()


def far(rung, rows, cols, row, col):
    """The one program that moves element (row, col) of a matrix with more than 2^31 elements; the
    memory of all others stays untouched, and is therefore never there."""
    import torch
    from triton.runtime import interpreter

    side = 32 if rung in BLOCKS else 1
    index = (row // side, col // side, 0)
    if rung == "triton_1d":
        index = (row * cols + col, 0, 0)
    elif rung == "triton_block_tuned":
        index = (col // side * -(-rows // side) + row // side, 0, 0)
    source = torch.empty(rows * cols, dtype=torch.uint8)
    output = torch.empty(rows * cols, dtype=torch.uint8)
    place, target = row * cols + col, col * rows + row
    source[place], output[target] = 77, 0

    class OneProgram(interpreter.GridExecutor):
        def _restore_args_dev(self, *args):
            """Both are the same memory."""

        def __call__(self, *args, **kwargs):
            grid = self.grid
            whole = grid({**self.given, "rows": rows, "cols": cols}) if callable(grid) else grid
            whole = (*whole, 1, 1)[:3]
            assert all(i < n for i, n in zip(index, whole))
            builder = interpreter.interpreter_builder
            set_dim, set_idx = builder.set_grid_dim, builder.set_grid_idx
            builder.set_grid_dim = lambda *_: set_dim(*whole)
            builder.set_grid_idx = lambda *_: set_idx(*index)
            self.grid = (1, 1, 1)
            try:
                super().__call__(*args, **kwargs)
            finally:
                del builder.set_grid_dim, builder.set_grid_idx

    rung = module(rung)
    OneProgram.given = getattr(rung, "CONFIGS", [None])[0].kwargs if hasattr(rung, "CONFIGS") else {}
    original, interpreter.GridExecutor = interpreter.GridExecutor, OneProgram
    try:
        rung.solve(source, output, rows, cols)
    finally:
        interpreter.GridExecutor = original
    assert output[target] == 77


def one_mask(rows, cols):
    """What becomes of a rows x cols matrix where the store of `triton_block` has the load's mask:
    elements that are wrong, that are never written, and that are written behind the end."""
    import torch
    import triton_one_mask

    bits = torch.arange(1, rows * cols + 1, dtype=torch.int32)
    room = torch.full((rows * cols + 4096,), -1, dtype=torch.int32)
    triton_one_mask.solve(bits.view(rows, cols), room, rows, cols)
    output, behind = room[: rows * cols], room[rows * cols :]
    wrong = output != bits.view(rows, cols).T.reshape(-1)
    return [int(wrong.sum()), int((output == -1).sum()), int((behind != -1).sum())]


def one_mask_suffices(shapes):
    """Where the masks of load and store are one, and where they must not be."""
    for rows, cols in shapes:
        whole = rows % 32 == 0 and cols % 32 == 0
        square = rows == cols <= 32
        found = one_mask(rows, cols)
        assert (found == [0, 0, 0]) == (whole or square), (rows, cols, found)


def one_mask_of_63():
    """What chapter 10 of the guide says of 63 x 63: 62 are never written, 31 overwrite others, 31 go behind."""
    assert one_mask(63, 63) == [93, 62, 31]


def limits(rung, rows, cols, words):
    import cornerturn.ladder

    reason = getattr(cornerturn.ladder, rung).why_not(rows, cols)
    assert (reason is None) == (words is None), reason
    assert words is None or words in reason, reason


def module(rung):
    return importlib.import_module(f"cornerturn.ladder.triton_rungs.{rung}")


CASES = {}
for name in RUNGS:
    for dtype in DTYPES:
        for shape in SMALL + (LARGE if name in BLOCKS else []):
            CASES[f"{name} {shape[0]}x{shape[1]} {dtype}"] = (solved, name, *shape, dtype)
    for shape in [(0, 0), (0, 5), (5, 0)]:
        CASES[f"{name} {shape[0]}x{shape[1]}"] = (solved, name, *shape, "float32")
    for kind in ["numpy", "torch"]:
        CASES[f"{name} of {kind}"] = (called, name, kind)
    if name not in ("triton_1d", "triton_block"):
        CASES[f"{name} beyond 2^31 elements"] = (far, name, 50000, 50001, 49999, 49999)
    CASES[f"{name} takes 32768 x 32768"] = (limits, name, 32768, 32768, None)
SIDES = [1, 2, 31, 32, 33, 63, 64, 96]
CASES["one mask suffices for square parts alone"] = (one_mask_suffices, [(m, n) for m in SIDES for n in SIDES])
CASES["one mask at 63 x 63"] = (one_mask_of_63,)
CASES["triton_1d before 2^31 elements"] = (far, "triton_1d", 46340, 46341, 46339, 46339)
CASES["triton_block before 2^31 elements"] = (far, "triton_block", 46340, 46341, 46338, 46330)
CASES["triton_1d has a limit"] = (limits, "triton_1d", 65536, 32768, "2147483648 programs along x")
CASES["triton_2d has a limit"] = (limits, "triton_2d", 1, 65536, "65536 programs along y, a grid has 65535")
CASES["triton_2d reaches it"] = (limits, "triton_2d", 2**30, 65535, None)
CASES["triton_trans_1x1 has a limit"] = (limits, "triton_trans_1x1", 1, 65536, "65536 programs along y")
CASES["triton_block has a limit"] = (limits, "triton_block", 65536, 32768, "its offsets have 32 bits")
CASES["triton_block has a grid's"] = (limits, "triton_block", 1, 32 * 65536, "65536 programs along y")
CASES["triton_block_tuned has the grid's alone"] = (limits, "triton_block_tuned", 2**31, 2**9, None)


def run_case(function, *arguments):
    try:
        function(*arguments)
    except Exception:
        return traceback.format_exc()
    return None


def widths(rung):
    """The accesses of a kernel for extents that are multiples of 16, by their text in PTX."""
    import triton
    from triton.backends.compiler import GPUTarget

    rung = module(rung)
    sizes, kernel = {}, rung.kernel
    if hasattr(rung, "CONFIGS"):
        sizes, kernel = rung.CONFIGS[0].kwargs, kernel.fn
    elif hasattr(rung, "SIDE"):
        sizes = {"SIDE": rung.SIDE}
    signature = {"input": "*fp32", "output": "*fp32", "rows": "i32", "cols": "i32"}
    source = triton.compiler.ASTSource(
        kernel,
        {**signature, **dict.fromkeys(sizes, "constexpr")},
        constexprs=sizes,
        attrs={(i,): [["tt.divisibility", 16]] for i in range(4)},
    )
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    return sorted(set(re.findall(r"(?:ld|st)\.(?:global|shared)[.\w]*", text)))


if __name__ == "__main__":
    if sys.argv[1] == "interpret":
        os.environ["TRITON_INTERPRET"] = "1"
        print(json.dumps({name: run_case(*case) for name, case in CASES.items()}))
    else:
        os.environ.pop("TRITON_INTERPRET", None)
        print(json.dumps({rung: widths(rung) for rung in RUNGS}))
