#!/usr/bin/env python3
"""Writes docs/python-reference.md from the docstrings of the installed package, or with --check says
whether it is what they say.

usage: .venv/bin/python scripts/python_reference.py [--check]
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "python-reference.md"
SOURCES = ROOT / "python" / "cornerturn"
# Modules that need their framework to be imported are read, not run.
MODULES = {
    "cornerturn": [
        *("transpose", "to", "contiguous", "copy", "rearrange", "repeat", "EinopsError"),
        *("moveaxis", "swapaxes", "permute_dims", "ascontiguousarray"),
        *("stack", "unstack", "take", "put"),
        *("plan", "Plan", "threads", "transpose_file", "transpose_in_place", "rechunk"),
        *("quantise", "dequantise", "quantise_both", "Both", "nvfp4_tensor_scale", "amax",
          "transpose_blocks", "convert_scales", "quantise_groups"),
        *("Layout", "Swizzle", "explain", "Explanation", "AccessCost", "solve", "Solution", "Answer"),
        *("convert_swizzle", "Conversion", "lab_page"),
        *("check", "CheckReport", "Finding", "Place", "KernelCounts", "LineCounts"),
    ],
    "cornerturn.torch": ["permute", "enable", "disable", "relayout_pages", "redistribute", "empty_shard"],
    "cornerturn.tables": ["to_matrix", "from_matrix", "Table"],
    "cornerturn.shards": ["plan", "Redistribution", "scalapack"],
    "cornerturn.jax": ["transpose"],
    "cornerturn.zarr": ["enable", "disable"],
    "cornerturn.dask": ["transpose", "rearrange", "repeat"],
    "cornerturn.xarray": ["DataArrayAccessor", "DatasetAccessor"],
    "cornerturn.ladder": ["rungs", "Rung", "run"],
}


def definitions() -> dict[str, ast.AST]:
    """Every function and class of the package's own files: by cornerturn.ladder._run.run."""
    found = {}
    for path in sorted([*SOURCES.glob("*.py"), *SOURCES.glob("ladder/*.py")]):
        file = ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[f"{file.removesuffix('.__init__')}.{node.name}"] = node
    return found


def find(nodes: dict[str, ast.AST], module: str, name: str) -> ast.AST:
    """What the module itself or one of its private files defines."""
    if f"{module}.{name}" in nodes:
        return nodes[f"{module}.{name}"]
    private = r"\._torch_\w+" if module == "cornerturn.torch" else rf"{module.removeprefix('cornerturn')}\._\w+"
    of_module = re.compile(rf"cornerturn{private}\.{name}")
    return next(node for key, node in nodes.items() if of_module.fullmatch(key))


def signature(node: ast.FunctionDef) -> str:
    text = f"{node.name}({ast.unparse(node.args)})"
    text = text.replace("=_ONE", "=1.0").replace("=_ZERO", "=0.0")
    return text + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def markdown(docstring: str) -> str:
    """Google's sections as lists, the example as code."""
    lines = []
    code = entries = False
    for line in inspect.cleandoc(docstring).splitlines():
        title = re.fullmatch(r"(Args|Returns|Raises|Example):", line)
        if title:
            lines += [f"**{title[1]}**", ""]
            code = title[1] == "Example"
            entries = title[1] in ("Args", "Raises")
            if code:
                lines.append("```pycon")
        elif code:
            lines.append(line.removeprefix("    "))
        elif entries and (entry := re.match(r"    (\w[\w, ]*): (.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif line.startswith("        "):
            lines.append("  " + line.strip())
        else:
            lines.append(line.strip())
    if code:
        lines.append("```")
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def page() -> str:
    nodes = definitions()
    parts = [
        "# Python reference",
        "",
        "<!-- Written by scripts/python_reference.py from the docstrings. -->",
    ]
    for module, names in MODULES.items():
        path = SOURCES / module.partition(".")[2]
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
        parts += ["", f"## {module}", "", indented_code(docstring)]
        for name in names:
            node = find(nodes, module, name)
            if isinstance(node, ast.ClassDef):
                parts += ["", f"### class {name}", "", markdown(ast.get_docstring(node) or ""), ""]
                for member in node.body:
                    if isinstance(member, ast.FunctionDef) and ast.get_docstring(member):
                        call = "" if member.decorator_list else "()"
                        text = " ".join((ast.get_docstring(member) or "").split())
                        parts.append(f"- `{member.name}{call}`: {text}")
            else:
                doc = ast.get_docstring(node) or ""
                call = "\n".join(textwrap.wrap(signature(node), 96, subsequent_indent="    "))
                parts += ["", f"### {name}", "", "```python", call, "```", "", markdown(doc)]
    return "\n".join(parts) + "\n"


def indented_code(docstring: str) -> str:
    """The examples in it, which are indented, as code."""
    blocks = []
    for block in docstring.split("\n\n"):
        if block.startswith("    >>>"):
            block = "```pycon\n" + textwrap.dedent(block) + "\n```"
        blocks.append(block)
    return "\n\n".join(blocks)


def main() -> int:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
        return 0
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is out of date: run scripts/python_reference.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
