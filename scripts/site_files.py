"""What MkDocs does besides, for mkdocs.yml: the pages link to files of the repository beyond docs/, which
the site brings along, to the reference that Doxygen has made in build/docs/cpp, and to the swizzle lab's page
where one was built."""

from __future__ import annotations

import functools
import json
import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
CPP = ROOT / "build" / "docs" / "cpp"
LAB = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release")) / "page" / "lab.html"
LINK = re.compile(r"(\]\()([^)#:\s]+)(#[^)\s]*)?\)")


def beyond(page: str, target: str) -> str | None:
    """The path in the repository that a link leads to, where that is a file outside docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return path if not path.startswith(("docs/", "..")) and (ROOT / path).is_file() else None


def place(path: str) -> str:
    return f"files/{path}" + (".txt" if path.endswith(".md") else "")


def on_files(files: Files, config: Any) -> Files:
    wanted = set()
    for file in files.documentation_pages():
        for _, target, _ in LINK.findall(file.content_string):
            wanted.add(beyond(file.src_uri, target))
    for path in sorted(wanted - {None}):
        files.append(File.generated(config, place(path), abs_src_path=str(ROOT / path)))
    for made in sorted(CPP.rglob("*")):
        if made.is_file():
            uri = f"cpp/{made.relative_to(CPP).as_posix()}"
            files.append(File.generated(config, uri, abs_src_path=str(made)))
    if LAB.exists():
        files.append(File.generated(config, "page/lab.html", abs_src_path=str(LAB)))
    for name in ("iframe-worker.js", "site.css"):
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(ROOT / "scripts" / name)))
    return files


@functools.cache
def rungs_of_lab() -> set[str]:
    """The rungs that the lab's page knows."""
    if not LAB.exists():
        return set()
    known = re.search(r'<script type="application/json" id="rungData">(.*?)</script>', LAB.read_text(), re.S)
    return {rung["name"] for rung in json.loads(known[1])["rungs"]}


def with_lab(markdown: str, here: str) -> str:
    """The lab's page is opened from its own chapter, and at a rung from the rung's page."""
    if here == "lab.md":
        opened = (
            "[**Open the page**](page/lab.html)."
            if LAB.exists()
            else "This site was built without emscripten and so without the page."
        )
        return markdown.replace("## The page\n", f"## The page\n\n{opened}\n")
    figures = re.search(r"^<!-- figures: ([\w ]+) -->$", markdown, re.M)
    links = [
        f"[{name}](../page/lab.html#view=rung&rung={name})"
        for name in (figures[1].split() if figures else [])
        if name in rungs_of_lab()
    ]
    if not here.startswith("kernels/") or not links:
        return markdown
    return markdown.replace(figures[0], f"In [the lab](../lab.md#the-page): {', '.join(links)}.\n\n{figures[0]}")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = page.file.src_uri

    def led(link: re.Match[str]) -> str:
        path = beyond(here, link[2])
        if path is None:
            return link[0]
        return f"{link[1]}{posixpath.relpath(place(path), posixpath.dirname(here) or '.')})"

    markdown = with_lab(LINK.sub(led, markdown), here)
    if here == "reference.md" and CPP.exists():
        markdown += (
            "\n## Everything in the headers\n\n[Classes and structures](cpp/annotated.html), "
            "[headers, with all functions](cpp/files.html), [namespaces](cpp/namespaces.html)\n"
        )
    return markdown
