def rungs() -> list[tuple[str, str, str, bool, bool]]:
    """
    All rungs in the order of the climb: (name, shows, family, transposes, converts).
    """

def why_no_gpu() -> str | None:
    """Why no kernel can run on a GPU here, or None."""

def why_no_cute() -> str:
    """Why this build has no code of the CuTe rungs; empty if it has."""

def why_not(rung: str, rows: int, cols: int, itemsize: int, batch: int = 1, fused: bool = False) -> str | None:
    """
    Why the rung does not apply to a stack of such matrices, or None. Fused: the source has row 0 of each matrix, then row 1 of each.
    """

def launch(rung: str, src: int, dst: int, rows: int, cols: int, itemsize: int, device: int, stream: int, batch: int = 1, fused: bool = False) -> None:
    """Enqueues one launch between two addresses in the memory of a GPU."""

def emulate(rung: str, src: int, dst: int, rows: int, cols: int, itemsize: int, batch: int = 1, fused: bool = False) -> None:
    """
    Runs the rung on the CPU between two addresses of the host, and checks it.
    """

def why_not_convert(rung: str, src_type: str, dst_type: str) -> str | None:
    """
    Why the rung cannot change elements of one type into those of another, or None.
    """

def launch_converting(rung: str, src: int, dst: int, rows: int, cols: int, src_type: str, dst_type: str, device: int, stream: int) -> None:
    """launch(), with elements that change their type."""

def emulate_converting(rung: str, src: int, dst: int, rows: int, cols: int, src_type: str, dst_type: str) -> None:
    """emulate(), with elements that change their type."""
