import os

import pytest

from browser import CHROMIUM, Browser
from lab_page import PAGE


@pytest.fixture(scope="session")
def page():
    if PAGE.exists():
        return PAGE
    if os.environ.get("FULL") == "1":
        pytest.fail(f"no {PAGE}: emscripten makes it (scripts/setup.sh full)")
    pytest.skip(f"no {PAGE}: `make page` builds it")


@pytest.fixture(scope="session")
def chromium(page, tmp_path_factory):
    if CHROMIUM is None:
        if os.environ.get("FULL") == "1":
            pytest.fail("no chromium (scripts/setup.sh full)")
        pytest.skip("no chromium here")
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture
def lab(chromium, page):
    """The page in a browser, fresh; at the end it must have met no error and asked no network."""
    chromium.problems.clear()
    chromium.open("about:blank", "true")
    chromium.open(page.as_uri(), "window.lab && window.lab.ready")
    yield chromium
    chromium.run("0")
    assert chromium.problems == []
