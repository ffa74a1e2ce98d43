"""Runs the notebooks of examples/notebooks and compares what their cells say with what is recorded in them.

usage: scripts/notebooks.py [--write] [NOTEBOOK...]
--write records what they say. No Jupyter is needed: a cell is lines of Python, whose last value is shown.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "notebooks"


def answers(cell: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of a cell, as a notebook holds them."""
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append(dict(name="stdout", output_type="stream", text=printed.getvalue().splitlines(keepends=True)))
    if value is not None:
        shown = repr(value).splitlines(keepends=True)
        found.append(dict(data={"text/plain": shown}, execution_count=None, metadata={}, output_type="execute_result"))
    return found


def run(path: Path) -> dict[str, Any]:
    """The notebook with what its cells say now. It runs in an empty folder."""
    notebook: dict[str, Any] = json.loads(path.read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    cell["outputs"] = answers("".join(cell["source"]), names)
        finally:
            os.chdir(before)
    return notebook


def needs_command(path: Path) -> bool:
    return "cornerturn.check(" in path.read_text()


def has_command() -> bool:
    """The package may have been built without it: then that of the build serves."""
    from cornerturn import __main__ as command

    if not command.PROGRAM.exists():
        command.PROGRAM = ROOT / "build" / "release" / "bin" / "cornerturn"
    return command.PROGRAM.exists()


def main(words: list[str]) -> int:
    write = "--write" in words
    paths = [Path(word).resolve() for word in words if word != "--write"] or sorted(FOLDER.glob("*.ipynb"))
    stale = 0
    for path in paths:
        if needs_command(path) and not has_command():
            print(f"{path.name}: skipped, there is no command `cornerturn`")
            continue
        text = json.dumps(run(path), indent=1, ensure_ascii=False) + "\n"
        if text == path.read_text():
            continue
        if write:
            path.write_text(text)
            continue
        stale += 1
        print(f"{path.name}: its cells say something else than is recorded")
        for cell, now in zip(json.loads(path.read_text())["cells"], json.loads(text)["cells"], strict=True):
            if cell != now:
                print("".join(cell["source"]), "recorded:", cell["outputs"], "now:", now["outputs"], sep="\n")
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
