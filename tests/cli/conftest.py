import pytest

from command_line import PROGRAM


@pytest.fixture(scope="session", autouse=True)
def program():
    assert PROGRAM.exists(), f"no {PROGRAM}; run `make build`"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
