"""The site of the documentation: its links lead somewhere, and it is searched from files, without a server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="scripts/setup.sh docs installs MkDocs")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: then --strict does not hear of warnings.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_in_it_comes_from_elsewhere(site):
    pages = list(site.glob("*.html"))
    assert len(pages) > 10
    for page in pages:
        loaded = re.findall(r'<(?:script|link rel="stylesheet")[^>]*(?:src|href)="([^"]*)"', page.read_text())
        assert loaded and not [address for address in loaded if "//" in address]


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium here")
def test_search_works_from_files(site, tmp_path):
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               f"--user-data-dir={tmp_path}", "--virtual-time-budget=8000", "--dump-dom",
               f"file://{site}/index.html?q=moveaxis"]  # fmt: skip
    page = subprocess.run(command, capture_output=True, text=True, timeout=100).stdout
    assert re.search(r"\d matching documents", page)
    assert re.search(r'href="[^"]*python\.html\?h=moveaxis', page)
