"""Part of a page that a script writes: what stands between two marks."""

import sys
from pathlib import Path


def put(page: Path, name: str, text: str) -> None:
    """Replaces what is between `<!-- name:begin -->` and `<!-- name:end -->`."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, mark, rest = page.read_text().partition(begin)
    if not mark or end not in rest:
        sys.exit(f"{Path(sys.argv[0]).name}: {page} has no marks {begin.strip()} and {end}")
    page.write_text(before + begin + text + end + rest.partition(end)[2])
