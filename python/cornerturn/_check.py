"""check: a CUDA source, run on the CPU by the command `cornerturn check`."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex, Union

from cornerturn import __main__ as _command
from cornerturn._arrays import is_integer, shown
from cornerturn._check_arguments import Word, read, word_of
from cornerturn._check_report import CheckReport, report_of

Path = Union[str, "os.PathLike[str]"]
Dimensions = Union[SupportsIndex, Sequence[SupportsIndex]]
_NAMES = {"--on": "device", "--arg": "args", "-I": "include", "-D": "define"}


def check(
    file: Path,
    *,
    kernel: str | None = None,
    grid: Dimensions | None = None,
    block: Dimensions | None = None,
    shared: SupportsIndex = 0,
    call: str | None = None,
    args: Sequence[Any] = (),
    program_args: Sequence[str] = (),
    device: str = "h200",
    max_wavefronts: float | None = None,
    max_sectors: float | None = None,
    include: Sequence[Path] = (),
    define: Mapping[str, str | int | None] | None = None,
    std: str = "c++17",
    steps: SupportsIndex | None = None,
    blocks: SupportsIndex | None = None,
    seconds: SupportsIndex | None = None,
) -> CheckReport:
    """Runs a CUDA source on the CPU, and says what is wrong with it: `cornerturn check` for tests.

    With `kernel` that kernel is launched once, with `call` that function of the host is called, and with
    neither of them the program's `main` runs. It needs a C++ compiler: `CXX`, or c++, g++ or clang++; no
    GPU, and no CUDA. What is wrong with the source is in the report and raises nothing.

    Args:
        file: the path of the source.
        kernel: a kernel's name with its template arguments: "transpose<float, 32>".
        grid, block: blocks of the launch and threads of a block: a number, or up to three.
        shared: bytes of dynamic shared memory of the launch.
        call: the name of a function that takes tensors and numbers, as PyTorch's extensions have them.
        args: what the kernel or the function takes, in order. An array of NumPy, or a tensor in host
            memory, becomes an array in the memory of the GPU, packed row by row. It is not written to: the
            report's `args` has the array after the launch. Elements that CUDA has no name for (structures,
            complex numbers) go to a kernel as their bytes. Numbers are passed as they are, those of NumPy
            with their types, and None is a null pointer. A text is an argument of the command:
            "out:f32[64,32]" is an array that nobody has written, so that reads of it are found.
        program_args: what `main` gets.
        device: the GPU whose limits hold, by name or by file.
        max_wavefronts, max_sectors: a line that takes more than so many times what it needs is a finding.
        include, define: folders of headers, and macros with their values; None defines a name alone.
        std: the language.
        steps, blocks, seconds: limits: the accesses and waits of a thread, the blocks whose accesses are
            counted, and the processor time of the program; None stands for the command's.

    Returns:
        A CheckReport, with `findings`, `lines` that count accesses, `args`, `result`, and `ok`.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: there is no compiler, or this package has no command.
        TypeError: an argument is of a wrong kind, as an array of objects.
        ValueError: a value is wrong, or the source could not be compiled or run: it has no such kernel,
            holds an error, or uses what is not known here.

    Example:
        >>> x = np.random.rand(64, 96).astype(np.float32)
        >>> r = cornerturn.check("transpose.cu", kernel="transpose", grid=(3, 2), block=(32, 8),
        ...                      args=[x, np.zeros((96, 64), np.float32), 64, 96])
        >>> assert not r.findings, r
        >>> np.testing.assert_array_equal(r.args[1], x.T)
    """
    path = os.fspath(file)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, f"file: {os.strerror(errno.ENOENT)}", path)
    if kernel is not None and call is not None:
        raise ValueError(f"kernel = {kernel!r} and call = {call!r}: a launch or a call, one of them")
    if kernel is None and call is None and args:
        raise ValueError("args are for kernel= and call=; program_args are those of a main")
    if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
        raise TypeError(f"args = {shown(args)} is no sequence of arguments")
    words = [os.path.join(".", path) if path.startswith("-") else path, "--json", "--on", device, "--std", std]
    words += _launch_words(kernel, grid, block, shared)
    words += [] if call is None else [f"--call={call}"]
    numbers = dict(steps=steps, blocks=blocks, seconds=seconds)
    words += [f"--{name}={_whole(name, value, 0)}" for name, value in numbers.items() if value is not None]
    ratios = {"max-wavefronts": max_wavefronts, "max-sectors": max_sectors}
    words += [f"--{name}={float(value)!r}" for name, value in ratios.items() if value is not None]
    words += [word for folder in include for word in ("-I", os.path.abspath(folder))]
    words += [word for name, value in (define or {}).items() for word in ("-D", _macro(name, value))]
    return _checked(words, args, call is not None, kernel is not None or call is not None, program_args)


def _launch_words(kernel: str | None, grid: Any, block: Any, shared: Any) -> list[str]:
    if kernel is None:
        given = [name for name, value in (("grid", grid), ("block", block)) if value is not None]
        if given or shared:
            raise ValueError(f"{(given or ['shared'])[0]} is for kernel=, which is not given")
        return []
    missing = [name for name, value in (("grid", grid), ("block", block)) if value is None]
    if missing:
        raise ValueError(f"kernel = {kernel!r} needs {' and '.join(missing)}")
    words = [f"--kernel={kernel}", f"--grid={_dimensions('grid', grid)}", f"--block={_dimensions('block', block)}"]
    return [*words, f"--shared={_whole('shared', shared, 0)}"]


def _dimensions(name: str, value: Any) -> str:
    try:
        numbers = [index(value)] if is_integer(value) else [index(number) for number in value]
    except TypeError:
        raise TypeError(f"{name} = {shown(value)} is neither a number nor a sequence of up to three") from None
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise ValueError(f"{name} = {shown(value)}: there are one to three numbers from 1 on")
    return ",".join(map(str, numbers))


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} = {shown(value)} is no whole number") from None
    if number < least:
        raise ValueError(f"{name} = {number} is no number from {least} on")
    return number


def _macro(name: str, value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"define: {name!r} is no name of a macro")
    return name if value is None else f"{name}={int(value) if isinstance(value, bool) else value}"


def _checked(
    words: list[str], args: Sequence[Any], to_tensor: bool, saves: bool, program_args: Sequence[str]
) -> CheckReport:
    if not os.path.exists(_command.PROGRAM):
        raise RuntimeError(f"check runs the command cornerturn, and {_command.WITHOUT}")
    with tempfile.TemporaryDirectory(prefix="cornerturn-") as folder:
        given = [word_of(value, i, folder, to_tensor) for i, value in enumerate(args)]
        words += [f"--arg={word.text}" for word in given]
        words += [f"--save={os.path.join(folder, 'saved')}"] if saves else []
        words += ["--", *map(os.fspath, program_args)] if program_args else []
        done = subprocess.run(
            [_command.PROGRAM, "check", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        try:
            said = json.loads(done.stdout)
        except ValueError:
            said = {"files": [], "refused": []}
        if not said["files"]:
            raise _error_of(done, said["refused"], given)
        (found,) = said["files"]
        values, result = _values(found, given) if saves else (None, None)
        return report_of(found, values, result)


def _values(found: dict[str, Any], given: list[Word]) -> tuple[tuple[Any, ...] | None, Any]:
    """The arguments and the results after the launch; nothing where it has left none."""
    saved = {one["name"]: one for one in found["saved"]}
    if found["exit_code"] != 0:
        return None, None
    values = tuple(read(saved[f"arg{i}"], word) if f"arg{i}" in saved else word.value for i, word in enumerate(given))
    results = [read(one) for name, one in saved.items() if name.startswith("result")]
    return values, results[0] if "result" in saved else tuple(results) if results else None


def _error_of(done: subprocess.CompletedProcess[str], refused: list[dict[str, Any]], given: list[Word]) -> Exception:
    said = [line for line in done.stderr.splitlines() if line.startswith("cornerturn: ")]
    message = refused[0]["message"] if refused else (said or [f"exit code {done.returncode}"])[-1].removeprefix("cornerturn: ")
    if done.returncode != 2 or (refused and refused[0]["unsupported"]) or message.endswith("a signal came"):
        return RuntimeError(message)
    for i, word in enumerate(given):
        message = message.replace(f"--arg = '{word.text}'", f"args[{i}] = {word.text!r}")
    return ValueError(re.sub(r"(?<!\w)(--[a-z][a-z-]*|-[ID])\b", lambda found: _name_of(found[1]), message))


def _name_of(option: str) -> str:
    return _NAMES.get(option, option.lstrip("-").replace("-", "_"))
