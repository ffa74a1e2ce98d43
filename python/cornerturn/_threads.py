"""threads: how many threads of the CPU calls work on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from operator import index
from types import ModuleType
from typing import Any

from cornerturn import _core
from cornerturn._arrays import shown


class threads(contextlib.ContextDecorator):
    """While active, the calls of this thread work on at most `n` threads of the CPU.

    It is a context manager and a decorator. 0 stands for all threads that the process may use, which the
    environment variable CORNERTURN_THREADS may limit. `threadpoolctl.threadpool_limits` limits the calls
    of all threads that are not inside such a block.

    Raises ValueError for a number that is negative or above 1024, and TypeError for what is no integer.

    Example:
        >>> with cornerturn.threads(1):
        ...     y = cornerturn.transpose(x)
    """

    def __init__(self, n: int) -> None:
        try:
            self._n = index(n)
        except TypeError:
            raise TypeError(f"threads = {shown(n)} is not an integer") from None
        if not 0 <= self._n <= 1024:
            raise ValueError(f"threads = {self._n} is out of range: 0 to 1024")
        self._before: list[int] = []

    def __enter__(self) -> threads:
        self._before.append(_core.limit_threads(self._n))
        return self

    def __exit__(self, *_: object) -> None:
        _core.limit_threads(self._before.pop())


def with_threads(n: int, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with threads(n):
        return call(*args, **options)


class _WhenImported:
    """Finds threadpoolctl as others do. When it has been imported, it is told of this package."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "threadpoolctl":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                tell_threadpoolctl()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def tell_threadpoolctl() -> None:
    """Makes threadpoolctl, where a program uses it, see and limit the threads of this package.

    Where it is not imported yet, it is told later: to import it here would take as long as all else.
    """
    threadpoolctl = sys.modules.get("threadpoolctl")
    if threadpoolctl is None:
        sys.meta_path.insert(0, _WhenImported())
        return
    register = getattr(threadpoolctl, "register", None)
    if register is None:
        return
    extension = os.path.realpath(_core.__file__ or "")

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = "cornerturn"
        internal_api = "cornerturn"
        filename_prefixes = ("_core",)
        check_symbols = ("PyInit__core",)

        def __init__(self, *, filepath: Any = None, **options: Any) -> None:
            super().__init__(filepath=filepath, **options)
            if os.path.realpath(filepath) != extension:
                self.dynlib = None  # another package's: it has none of the symbols

        def get_num_threads(self) -> int:
            return _core.threads()

        def set_num_threads(self, num_threads: int) -> None:
            _core.limit_threads(num_threads, process=True)

        def get_version(self) -> str:
            return _core.version()

        def set_additional_attributes(self) -> None:
            pass

    register(Controller)
