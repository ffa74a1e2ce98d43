"""The closing line of `make test` counts every case once and misses no failure."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "test_summary.py"
GTEST = """<testsuites><testsuite name="A">
<testcase name="one" classname="A" status="run" result="completed"/>
<testcase name="two" classname="A" status="run" result="completed">{two}</testcase>
<testcase name="three" classname="A" status="run" result="skipped"><skipped message="x"/></testcase>
</testsuite></testsuites>"""
CTEST = """<testsuite name="(empty)"><testcase name="test_a" classname="test_a" status="{status}">
{failure}</testcase></testsuite>"""


@pytest.fixture
def build(tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "release" / "reports" / "gtest").mkdir(parents=True)
    write(tmp_path, steps="check\tdocs\tok\n", ctest=CTEST.format(status="run", failure=""))
    return tmp_path


def write(build, steps=None, ctest=None, gtest=None, pytest_report=None):
    for text, path in [
        (steps, "reports/steps.tsv"),
        (ctest, "release/reports/ctest.xml"),
        (gtest, "release/reports/gtest/test_a.xml"),
        (pytest_report, "reports/pytest.xml"),
    ]:
        if text is not None:
            (build / path).write_text(text)


def summary(build):
    result = subprocess.run([sys.executable, SCRIPT, build], capture_output=True, text=True)
    return result.returncode, result.stdout.splitlines()


def test_cases_of_a_binary_count_not_the_binary(build):
    write(build, gtest=GTEST.format(two=""))
    assert summary(build) == (0, ["3 passed, 0 failed, 1 skipped"])


def test_failed_case_is_named(build):
    write(
        build,
        gtest=GTEST.format(two='<failure message="no"/>'),
        ctest=CTEST.format(status="fail", failure='<failure message="x"/>'),
        steps="check\tdocs\tok\nrunner\tctest-release\tfailed\n",
    )
    assert summary(build) == (1, ["FAILED release: A.two", "2 passed, 1 failed, 1 skipped"])


def test_crash_without_a_report_fails(build):
    write(build, ctest=CTEST.format(status="fail", failure='<failure message="x"/>'))
    assert summary(build) == (1, ["FAILED release: test_a", "1 passed, 1 failed, 0 skipped"])


def test_failure_after_the_last_case_fails(build):
    write(
        build,
        gtest=GTEST.format(two=""),
        ctest=CTEST.format(status="fail", failure='<failure message="leak"/>'),
    )
    code, lines = summary(build)
    assert code == 1
    assert lines[-1] == "3 passed, 1 failed, 1 skipped"


@pytest.mark.parametrize("kind", ["build", "check", "runner"])
def test_failed_step_without_reports_fails(build, kind):
    write(build, steps=f"{kind}\tsomething\tfailed\n")
    code, lines = summary(build)
    assert code == 1
    assert lines == ["FAILED something", "1 passed, 1 failed, 0 skipped"]


def test_nothing_tested_fails(tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "steps.tsv").write_text("")
    assert summary(tmp_path) == (1, ["0 passed, 0 failed, 0 skipped"])


def test_pytest_report_is_added(build):
    write(
        build,
        pytest_report='<testsuites><testsuite><testcase classname="t" name="a"/>'
        '<testcase classname="t" name="b"><failure/></testcase></testsuite></testsuites>',
    )
    assert summary(build) == (1, ["FAILED t.b", "3 passed, 1 failed, 0 skipped"])
