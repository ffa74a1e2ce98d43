"""Adds up every test report below a build folder and prints one closing line.

usage: test_summary.py BUILD

Reads BUILD/reports/steps.tsv (what scripts/test.sh ran), BUILD/reports/*.xml (pytest), and for each
preset BUILD/PRESET/reports/ctest.xml with the GoogleTest reports beside it. A GoogleTest binary
counts by its cases; one that crashed before writing its report counts as one failure. The exit
status is 1 when anything failed or nothing was tested.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


class Tally:
    def __init__(self):
        self.passed = 0
        self.skipped = 0
        self.failures = []

    def add(self, name, outcome):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped += 1
        else:
            self.failures.append(name)


def outcome_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "failed" if case.get("status") == "fail" else "passed"


def cases(path):
    """The (class, name, outcome) of each test case in a JUnit or GoogleTest report."""
    return [
        (case.get("classname", ""), case.get("name"), outcome_of(case))
        for case in ET.parse(path).getroot().iter("testcase")
    ]


def add_ctest(tally, preset, reports):
    for _, name, outcome in cases(reports / "ctest.xml"):
        gtest = reports / "gtest" / f"{name}.xml"
        inner = cases(gtest) if gtest.exists() else []
        if not inner:
            tally.add(f"{preset}: {name}", outcome)
            continue
        for group, case, case_outcome in inner:
            tally.add(f"{preset}: {group}.{case}", case_outcome)
        if outcome == "failed" and all(o != "failed" for _, _, o in inner):
            tally.add(f"{preset}: {name} (after its last case)", "failed")


def add_up(build):
    tally = Tally()
    for report in sorted(build.glob("*/reports/ctest.xml")):
        add_ctest(tally, report.parent.parent.name, report.parent)
    for report in sorted((build / "reports").glob("*.xml")):
        for group, name, outcome in cases(report):
            tally.add(f"{group}.{name}", outcome)
    reported = bool(tally.failures)
    for line in (build / "reports" / "steps.tsv").read_text().splitlines():
        kind, name, status = line.split("\t")
        if kind == "check":
            tally.add(name, "passed" if status == "ok" else "failed")
        elif status != "ok" and (kind == "build" or not reported):
            tally.add(name, "failed")
    return tally


def main():
    tally = add_up(Path(sys.argv[1]))
    for name in tally.failures:
        print(f"FAILED {name}")
    print(f"{tally.passed} passed, {len(tally.failures)} failed, {tally.skipped} skipped")
    return 1 if tally.failures or tally.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
