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


RUNGS = '<script type="application/json" id="rungData">{"rungs":[{"name":"smem"},{"name":"cpy_rows"}]}</script>'


def built(folder, build):
    """The site beside a build, in which the lab's page is or is not."""
    # Not --quiet: then --strict does not hear of warnings.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "CORNERTURN_BUILD_DIR": str(build)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    build = tmp_path_factory.mktemp("build")
    (build / "page").mkdir()
    (build / "page" / "lab.html").write_text(RUNGS)
    return built(tmp_path_factory.mktemp("site"), build)


def test_the_labs_page_is_part_of_it(site):
    assert (site / "page" / "lab.html").read_text() == RUNGS
    assert 'href="page/lab.html"' in (site / "lab.html").read_text()
    for page, rung in [("smem", "smem"), ("cpy_steps", "cpy_rows")]:
        assert f'href="../page/lab.html#view=rung&amp;rung={rung}"' in (site / "kernels" / f"{page}.html").read_text()
    assert "page/lab.html#" not in (site / "kernels" / "smem_pad.html").read_text()


def test_a_site_without_the_page_says_so(tmp_path):
    site = built(tmp_path / "site", tmp_path)
    assert "without emscripten and so without the page" in (site / "lab.html").read_text()
    assert not (site / "page").exists()
    assert "page/lab.html#" not in (site / "kernels" / "smem.html").read_text()


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
