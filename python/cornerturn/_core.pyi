from collections.abc import Sequence


def version() -> str:
    """The version of the library."""

def has_cuda() -> bool:
    """Is device code part of this build?"""

def execute(dst: int, src: int, itemsize: int, shape: Sequence[int], dst_strides: Sequence[int], src_strides: Sequence[int], device: int = -1, stream: int = 0) -> None:
    """
    Copies between two views of the same shape. Addresses are integers, strides are in bytes.

    `device` is -1 for host memory, else the number of a GPU; `stream` is a cudaStream_t as an
    integer. Releases the GIL.
    """

def execute_across(dst: int, src: int, itemsize: int, shape: Sequence[int], dst_strides: Sequence[int], src_strides: Sequence[int], gpu: int, stream: int, waits: bool, blocks: int = 0) -> bool:
    """
    The same where one side lies in host memory, and the other one on `gpu`. `waits` for the stream.

    True: the GPU may still reach for the host's memory, which is pinned: keep() it.
    """

class Operand:
    """
    An array as numbers: the address, the name of its elements' type, the shape, the strides in
    bytes.
    """

    def __init__(self, address: int, type: str, shape: Sequence[int], strides: Sequence[int]) -> None: ...

class Epilogue:
    """
    How values change. `scale` and `bias` are addresses of f32 values: one for each index of an axis of
    dst, one for all with the axis -1, none with the address 0.
    """

    def __init__(self) -> None: ...

    @property
    def alpha(self) -> float: ...

    @alpha.setter
    def alpha(self, arg: float, /) -> None: ...

    @property
    def beta(self) -> float: ...

    @beta.setter
    def beta(self, arg: float, /) -> None: ...

    @property
    def scale(self) -> int: ...

    @scale.setter
    def scale(self, arg: int, /) -> None: ...

    @property
    def scale_axis(self) -> int: ...

    @scale_axis.setter
    def scale_axis(self, arg: int, /) -> None: ...

    @property
    def bias(self) -> int: ...

    @bias.setter
    def bias(self, arg: int, /) -> None: ...

    @property
    def bias_axis(self) -> int: ...

    @bias_axis.setter
    def bias_axis(self, arg: int, /) -> None: ...

    @property
    def conjugate(self) -> bool: ...

    @conjugate.setter
    def conjugate(self, arg: bool, /) -> None: ...

    @property
    def saturate(self) -> bool: ...

    @saturate.setter
    def saturate(self, arg: bool, /) -> None: ...

    @property
    def stochastic(self) -> bool: ...

    @stochastic.setter
    def stochastic(self, arg: bool, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

def convert(dst: Operand, src: Operand, epilogue: Epilogue, device: int, stream: int) -> None:
    """
    dst[i] = epilogue(src[i]) between two operands of the same shape. `device` and `stream` as in
    `execute`. Releases the GIL.
    """

def convert_across(dst: Operand, src: Operand, epilogue: Epilogue, gpu: int, stream: int, waits: bool, blocks: int = 0) -> bool:
    """The same with the two operands as in `execute_across`."""

def jax_targets() -> dict:
    """
    For each platform that this build serves, the handler that XLA calls, in a capsule.
    """

def quick_transpose(x: object | None, axes: object | None, out: object | None, dtype: object | None = None) -> object:
    """
    The permuted copy of a plain NumPy array or PyTorch tensor; None for all else. With a `dtype` of
    NumPy's, the values of a NumPy array are converted to it.
    """

def quick_convert(x: object | None, axes: object | None, out: object | None, dtype: object | None, alpha: float) -> object:
    """
    quick_transpose, with the values of a NumPy array multiplied by `alpha`.
    """

def quick_interleave(arrays: object, numbers: Sequence[int], rows: int, row: int, shape: Sequence[int]) -> object:
    """
    A new array in which plain packed NumPy arrays or PyTorch tensors of host memory take turns, as
    `interleave` says it. `numbers` are those of the arrays in the order of their turns. None for all else.
    """

def quick_transpose_first(function: object) -> bool:
    """
    Lets calls of `function`, which is cornerturn.transpose, try quick_transpose before its code runs.
    False where this Python cannot do that.
    """

def quick_copy_first(function: object) -> bool:
    """The same of cornerturn.copy."""

def check_signals_every(bytes: int) -> int:
    """
    Sets after how many bytes a long call on the CPU looks for Ctrl-C. Returns what was set before.
    """

def gpu_of(address: int) -> int:
    """
    The number of the GPU in whose memory an address lies, -1 for host memory.
    """

def gpu_count() -> int:
    """How many GPUs are here; a RuntimeError where there is none."""

def current_gpu() -> int:
    """The number of this thread's current GPU."""

def keep(object: object, device: int, stream: int) -> None:
    """Keeps an object alive until a stream has done what it has to do now."""

def synchronize(device: int, stream: int) -> None:
    """Waits until a stream has done its work."""

class Memory:
    """An array of somebody else. Strides are in bytes."""

    @staticmethod
    def from_dlpack(capsule: object | None) -> Memory: ...

    @staticmethod
    def from_buffer(object: object) -> Memory: ...

    @property
    def address(self) -> int: ...

    @property
    def itemsize(self) -> int: ...

    @property
    def shape(self) -> list[int]: ...

    @property
    def strides(self) -> list[int]: ...

    @property
    def device(self) -> int: ...

    @property
    def readonly(self) -> bool: ...

    @property
    def dtype(self) -> str: ...

class Plan:
    """A plan of the library."""

    @property
    def kernel(self) -> str: ...

    @property
    def device(self) -> str: ...

    @property
    def threads(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def predicted_seconds(self) -> float: ...

    def to_string(self) -> str: ...

    def why(self) -> str: ...

    def explain(self) -> str: ...

    def to_json(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

def make_plan(dst: int, src: int, itemsize: int, shape: Sequence[int], dst_strides: Sequence[int], src_strides: Sequence[int], gpu: int = -1, device: str = '', kernel: str = '', threads: int = 0, measure: bool = False, stream: int = 0, dst_type: str = '', src_type: str = '', blocks: int = 0) -> Plan:
    """
    The types are those between which values are converted; without them elements are moved.
    """

def itemsize(dtype: str) -> int:
    """Bytes of an element of a named type."""

def forget_plans() -> None: ...

def load_winners(path: str) -> None: ...

def save_winners(path: str) -> None: ...

def amax(src: Operand, device: int, stream: int) -> float: ...

def quantise_tensor(dst: Operand, src: Operand, device: int, stream: int) -> float: ...

class ArrowTable:
    """
    A table of somebody else, in Arrow's C data interface. `columns` are (name, format, has a
    dictionary); `chunks` are (rows, pieces) with a piece of each column: (address of the validity,
    address of the values, first row, nulls).
    """

    @staticmethod
    def from_stream(capsule: object) -> ArrowTable: ...

    @staticmethod
    def from_array(schema: object, array: object) -> ArrowTable: ...

    @property
    def columns(self) -> list[tuple[str, str, bool]]: ...

    @property
    def chunks(self) -> list[tuple[int, list[tuple[int, int, int, int]]]]: ...

def arrow_stream(owner: object, names: Sequence[str], format: str, address: int, rows: int, step: int) -> object:
    """
    A capsule with an Arrow stream of one chunk: columns of one format, `step` bytes apart, in the memory
    that `owner` keeps.
    """

class TableOf:
    """
    The places of one axis of an operand: `places` is "i32", "i64" or "pointers", and `address`
    that of the table.
    """

    def __init__(self, address: int, places: str, axis: int, count: int = 0, zeros: bool = True, alignment: int = 0) -> None: ...

def copy_listed(dst: Operand, dst_list: TableOf | None, src: Operand, src_list: TableOf | None, epilogue: Epilogue, device: int, stream: int, checked: bool | None, kernel: str = '') -> None:
    """
    dst[i] = epilogue(src[i]), where an axis of a side, or of both, comes from a table. `checked`:
    None means on a CPU. Releases the GIL.
    """

def explain_listed(dst: Operand, dst_list: TableOf | None, src: Operand, src_list: TableOf | None, device: str = '', kernel: str = '') -> str:
    """The plan of such a copy, in words."""

def permute_in_place(array: Operand, axes: Sequence[int], device: int, stream: int) -> list[int]: ...

def block_formats() -> list:
    """
    The table of formats: name, dtype of the values, values of a block along its axis, lines of a block,
    values and bytes of an element, dtype of the scales.
    """

def nvfp4_tensor_scale(amax: float) -> float:
    """The scale of a tensor of NVFP4 with this largest magnitude."""

class BlockHow:
    """The format of blocks, and how they are made."""

    def __init__(self, format: str, pad: bool = False, scale: str = '', order: str = '', tensor_scale: float = 1.0, seed: int | None = None) -> None: ...

def quantise(how: BlockHow, values: Operand, scales: Operand | None, src: Operand, axis: int, *, device: int, stream: int, src_list: TableOf | None = None, checked: bool | None = None) -> None:
    """
    Blocks whose scales are inside are elements of so many bytes, without `scales`.
    """

def dequantise(how: BlockHow, dst: Operand, values: Operand, scales: Operand | None, axis: int, *, device: int, stream: int) -> None:
    """The way back."""

def quantise_both(how: BlockHow, rows: Operand, row_scales: Operand, columns: Operand, column_scales: Operand, src: Operand, *, device: int, stream: int, src_list: TableOf | None = None, checked: bool | None = None) -> None:
    """Blocks of a matrix and of its transpose."""

def quantise_groups(how: BlockHow, values: Operand, scales: Operand | None, src: Operand, sizes: Sequence[int], axis: int, *, device: int, stream: int) -> None:
    """Blocks of a matrix whose rows are groups, every one by itself."""

def convert_scales(dst: Operand, to: str, src: Operand, from_: str, shape: Sequence[int], *, device: int, stream: int) -> None:
    """Scales in another order: "", "packed_4" or "tiles_128x4"."""

def transpose_blocks(format: str, values: Operand, scales: Operand, src_values: Operand, src_scales: Operand, *, device: int, stream: int) -> None:
    """Blocks of a matrix as those of its transpose, as they are stored."""

def limit_threads(threads: int, process: bool = False) -> int:
    """
    Limits the calls of this thread, or of all threads that have no limit of their own; 0 lifts the limit.
    Returns what was set before.
    """

def threads() -> int:
    """The most threads of the CPU that a call works on."""

class TorchCopies:
    """PyTorch's copies on one kind of device, done by Cornerturn."""

    def __init__(self, on_gpu: bool) -> None: ...

    def end(self) -> None:
        """Gives them back to PyTorch."""

def torch_copies_done() -> int:
    """How many copies Cornerturn has done for PyTorch in this process."""

def file_shape(path: str) -> tuple[list[int], int]:
    """The shape of a .npy file, and its bytes."""

def transpose_file(src: str, dst: str, axes: Sequence[int], dtype: str, memory: int, progress: object | None) -> None:
    """`memory` is 0 for a mapping of the source."""

class ShardLayout:
    """How an array is spread over devices."""

    @staticmethod
    def placed(shape: Sequence[int], mesh: Sequence[int], placements: str, argument: str) -> ShardLayout: ...

    @staticmethod
    def boxes(shape: Sequence[int], devices: Sequence[tuple[Sequence[int], Sequence[int]]], argument: str) -> ShardLayout: ...

    @property
    def devices(self) -> int: ...

class Redistribution:
    """From one layout to another."""

    def __init__(self, src: ShardLayout, dst: ShardLayout, perm: Sequence[int], itemsize: int) -> None: ...

    @staticmethod
    def converting(src: ShardLayout, dst: ShardLayout, perm: Sequence[int], src_type: str, dst_type: str) -> Redistribution: ...

    def moves(self) -> bool:
        """Does any device send anything?"""

    def to_string(self, on: str, explain: bool) -> str: ...

    def to_json(self, on: str) -> str: ...

class ShardPart:
    """
    One device's part in a redistribution. A buffer holds the messages of `peers` in a chunk, one after
    the other; strides are in bytes, `gpu` and `stream` as in `execute`.
    """

    def __init__(self, what: Redistribution, device: int, chunk_bytes: int) -> None: ...

    @property
    def src_shape(self) -> list[int]: ...

    @property
    def dst_shape(self) -> list[int]: ...

    @property
    def dst_strides(self) -> list[list[int]]:
        """Of every device's part, packed."""

    @property
    def sent(self) -> list[list[int]]:
        """Bytes for each other device, chunk by chunk."""

    @property
    def received(self) -> list[list[int]]:
        """Bytes from each other device, chunk by chunk."""

    def pack(self, chunk: int, buffer: int, peers: Sequence[int], src: int, strides: Sequence[int], gpu: int, stream: int) -> None: ...

    def unpack(self, chunk: int, dst: int, strides: Sequence[int], buffer: int, peers: Sequence[int], gpu: int, stream: int) -> None: ...

    def keep(self, dst: int, dst_strides: Sequence[int], src: int, src_strides: Sequence[int], gpu: int, stream: int) -> None: ...

    def send(self, dst: Sequence[int], dst_strides: Sequence[Sequence[int]], src: int, src_strides: Sequence[int], gpu: int, stream: int, route: str) -> None:
        """
        Stores into the shards of all devices, whose memory this process can write to.
        """
