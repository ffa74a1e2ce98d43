"""What PyTorch calls when it has been imported: `CORNERTURN_TORCH=1 python model.py` then copies by Cornerturn.

It stands outside the package, so that a program that does not ask for it does not load it. Whatever goes
wrong here is a warning: PyTorch itself is usable.
"""

import os

_DEVICES = {"1": ("cpu", "cuda"), "cpu": ("cpu",), "cuda": ("cuda",), "cpu,cuda": ("cpu", "cuda")}


def autoload() -> None:
    """Calls `cornerturn.torch.enable()` for the devices that the environment variable CORNERTURN_TORCH names.

    It is "1" for all of them, "cpu", "cuda" or "cpu,cuda". Without it, and for "" and "0", nothing happens.
    """
    asked = os.environ.get("CORNERTURN_TORCH", "")
    if asked in ("", "0"):
        return
    try:
        if asked not in _DEVICES:
            raise ValueError(f"CORNERTURN_TORCH = {asked!r} is none of '0', '1', 'cpu', 'cuda', 'cpu,cuda'")
        import cornerturn.torch

        cornerturn.torch.enable(*_DEVICES[asked])
    except Exception as error:
        import warnings

        warnings.warn(f"{error}: PyTorch's copies stay its own", RuntimeWarning, stacklevel=2)
