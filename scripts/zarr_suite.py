#!/usr/bin/env python3
"""Runs the tests of zarr-python itself with cornerturn.zarr on, and without, and compares what they say.

    python3 scripts/zarr_suite.py [--zarr VERSION] [--wheel FILE] [--python PYTHON] [FILE_OR_FOLDER...]

It makes an environment in build/zarr-suite with the wheel (make wheel), zarr-python and what its tests
need, and takes the tests from zarr's own sources, of the version in scripts/requirements-chunks.txt if no other
is named. What follows are parts of its tests/, all that touch arrays and codecs if none is named. With Cornerturn on, arrays
of any size are moved by it, the smallest as well. The run fails where a test passes without it and not with it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "zarr-suite"
PARTS = [
    *["test_array.py", "test_api.py", "test_api", "test_buffer.py", "test_chunk_grids.py", "test_codec_entrypoints.py"],
    *["test_codecs", "test_config.py", "test_dtype", "test_dtype_registry.py", "test_experimental", "test_group.py"],
    *["test_indexing.py", "test_info.py", "test_metadata", "test_properties.py", "test_regression", "test_store"],
    *["test_sync.py", "test_v2.py", "test_zarr.py"],
]
NEEDED = (
    "pytest pytest-asyncio pytest-cov numpydoc hypothesis pytest-xdist pytest-benchmark "
    "pytest-codspeed tomlkit numcodecs[msgpack] fsspec obstore universal-pathlib requests"
).split()
# What asks whether zarr's own pipeline is the one that is used.
OF_OTHERS = ("test_config_codec_pipeline_class",)
ON = "CORNERTURN_ZARR_SUITE"  # the environment variable that makes this file a plugin of pytest


# ---- what pytest loads ----

if os.environ.get(ON):
    import pytest

    import cornerturn.zarr

    _moves = 0
    _move = cornerturn.zarr._move

    def _counted(target, source):
        global _moves
        done = _move(target, source)
        _moves += done
        return done

    cornerturn.zarr._move = _counted
    cornerturn.zarr._SMALL = 0

    def _on():
        cornerturn.zarr.disable()  # fixtures reset zarr's configuration
        cornerturn.zarr.enable()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(item):
        _on()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(item):
        _on()

    def pytest_runtest_teardown(item):
        cornerturn.zarr.disable()

    def pytest_terminal_summary(terminalreporter):
        terminalreporter.write_line(f"cornerturn moved {_moves} arrays")


# ---- the run ----


def run(*command: object, **options: object) -> None:
    words = [str(word) for word in command]
    if subprocess.run(words, **options).returncode != 0:
        sys.exit(f"zarr_suite: failed: {' '.join(words)}")


def only(folder: Path, pattern: str, remedy: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"zarr_suite: {len(found)} files {folder}/{pattern}, and one is needed: {remedy}")
    return found[0]


def environment(python: str, wheel: Path, version: str) -> Path:
    folder = WORK / f"environment-{version}"
    if not (folder / "bin" / "pytest").exists():
        run(python, "-m", "venv", "--clear", folder)
        run(folder / "bin" / "pip", "install", "-q", f"zarr[cli]=={version}", *NEEDED)
    run(folder / "bin" / "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel)
    return folder / "bin" / "python"


def tests(version: str, python: Path) -> Path:
    sources = WORK / f"zarr-{version}"
    if not sources.exists():
        run(python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "zarr", "-d", WORK, f"zarr=={version}")
        with tarfile.open(WORK / f"zarr-{version}.tar.gz") as archive:
            archive.extractall(WORK, filter="data")
    return sources


def outcomes(report: Path) -> dict[str, str]:
    """How each test ended: passed, failed or skipped."""
    found = {}
    for case in xml.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        said = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        name = re.sub("0x[0-9a-f]+", "0x", f"{case.get('classname')}::{case.get('name')}")  # some have addresses
        found[name] = "failed" if found.get(name) == "failed" else said
    return found


def run_tests(python: Path, sources: Path, parts: list[str], on: bool) -> dict[str, str]:
    report = sources / f"{'on' if on else 'off'}.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "--no-cov", "--durations=0", "--durations-min=20", "--hypothesis-seed=1"]
    given = dict(os.environ)
    if on:
        options += ["-p", Path(__file__).stem]
        given |= {ON: "1", "PYTHONPATH": str(Path(__file__).parent)}
    with report.with_suffix(".log").open("w") as log:
        words = [python, "-m", "pytest", *options, f"--junitxml={report}", *[f"tests/{part}" for part in parts]]
        subprocess.run([str(word) for word in words], cwd=sources, env=given, stdout=log, stderr=subprocess.STDOUT)
    if not report.exists():
        sys.exit(f"zarr_suite: pytest wrote no report (log: {log.name})")
    return outcomes(report)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zarr", help="its version")
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("parts", nargs="*", default=PARTS)
    given = parser.parse_args()
    wheel = given.wheel or only(ROOT / "dist", "cornerturn-*.whl", "make wheel")
    pinned = (ROOT / "scripts" / "requirements-chunks.txt").read_text()
    version = given.zarr or re.search(r"^zarr==(\S+)", pinned, re.M).group(1)
    WORK.mkdir(parents=True, exist_ok=True)
    python = environment(given.python, wheel, version)
    sources = tests(version, python)
    on, off = (run_tests(python, sources, given.parts, each) for each in (True, False))
    print((sources / "on.log").read_text().splitlines()[-1])
    count = {each: sum(said == each for said in on.values()) for each in ("passed", "skipped", "failed")}
    print(f"zarr {version} with Cornerturn: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    both = sorted(name for name, said in on.items() if said == "failed" and off.get(name) == "failed")
    differ = sorted(name for name in on.keys() | off.keys() if on.get(name) != off.get(name))
    ours = [name for name in differ if not any(each in name for each in OF_OTHERS)]
    known = [name for name in differ if name not in ours]
    for title, names in (("fail without it as well", both), ("ask for zarr's own pipeline", known), ("differ", ours)):
        print(f"{len(names)} {title}")
        for name in names:
            print(f"  {name}: {on.get(name, 'absent')} with it, {off.get(name, 'absent')} without")
    sys.exit(1 if ours else 0)


if __name__ == "__main__":
    main()
