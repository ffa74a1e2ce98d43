"""What MkDocs does besides, for mkdocs.yml: the pages link to files of the repository beyond docs/, which
the site brings along, and to the reference that Doxygen has made in build/docs/cpp."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
CPP = ROOT / "build" / "docs" / "cpp"
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
    for name in ("iframe-worker.js", "site.css"):
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(ROOT / "scripts" / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = page.file.src_uri

    def led(link: re.Match[str]) -> str:
        path = beyond(here, link[2])
        if path is None:
            return link[0]
        return f"{link[1]}{posixpath.relpath(place(path), posixpath.dirname(here) or '.')})"

    markdown = LINK.sub(led, markdown)
    if here == "reference.md" and CPP.exists():
        markdown += (
            "\n## Everything in the headers\n\n[Classes and structures](cpp/annotated.html), "
            "[headers, with all functions](cpp/files.html), [namespaces](cpp/namespaces.html)\n"
        )
    return markdown
