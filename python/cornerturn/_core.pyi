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

def execute_converting(dst: int, src: int, dst_type: str, src_type: str, shape: Sequence[int], dst_strides: Sequence[int], src_strides: Sequence[int], alpha: float = 1.0, beta: float = 0.0, scale: int = 0, scale_axis: int = -1, bias: int = 0, bias_axis: int = -1, conjugate: bool = False, saturate: bool = False, stochastic: bool = False, seed: int = 0, device: int = -1, stream: int = 0) -> None:
    """
    The same with values that change. `scale` and `bias` are addresses of f32 values, one for each
    index of an axis of dst, one for all with the axis -1; 0: none.
    """

def jax_targets() -> dict:
    """
    For each platform that this build serves, the handler that XLA calls, in a capsule.
    """

def quick_transpose(x: object | None, axes: object | None, out: object | None) -> object:
    """
    The permuted copy of a plain NumPy array or PyTorch tensor; None for all else.
    """

def quick_convert(x: object | None, axes: object | None, out: object | None, dtype: object) -> object:
    """
    The same of a plain NumPy array, whose values are converted to `dtype`.
    """

def gpu_of(address: int) -> int:
    """
    The number of the GPU in whose memory an address lies, -1 for host memory.
    """

def synchronize(device: int, stream: int) -> None:
    """Waits until a stream has done its work."""

class Memory:
    """An array of somebody else. Strides are in bytes."""

    @staticmethod
    def from_dlpack(capsule: object) -> Memory: ...

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

def make_plan(dst: int, src: int, itemsize: int, shape: Sequence[int], dst_strides: Sequence[int], src_strides: Sequence[int], gpu: int = -1, device: str = '', kernel: str = '', threads: int = 0, measure: bool = False, stream: int = 0) -> Plan: ...

def itemsize(dtype: str) -> int:
    """Bytes of an element of a named type."""

def forget_plans() -> None: ...

def load_winners(path: str) -> None: ...

def save_winners(path: str) -> None: ...

def amax(src: int, type: str, shape: Sequence[int], strides: Sequence[int], device: int, stream: int) -> float: ...

def quantise_tensor(dst: int, dst_type: str, src: int, type: str, shape: Sequence[int], strides: Sequence[int], device: int, stream: int) -> float: ...

def quantise(src: int, type: str, shape: Sequence[int], strides: Sequence[int], axis: int, format: str, pad: bool, ceil: bool, device: int, stream: int, values: int, scales: int = 0) -> None: ...

def dequantise(dst: int, type: str, shape: Sequence[int], strides: Sequence[int], axis: int, format: str, device: int, stream: int, values: int, scales: int = 0) -> None: ...

def quantise_both(src: int, type: str, shape: Sequence[int], strides: Sequence[int], format: str, pad: bool, ceil: bool, device: int, stream: int, rows: int, row_scales: int, columns: int, column_scales: int) -> None: ...
