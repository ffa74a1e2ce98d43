#!/usr/bin/env python3
"""Runs fuzz targets for a time, several processes at once, and says what each has done and found.

  scripts/fuzz.py --binaries build/clang/bin --seconds 600 --out build/fuzz
  scripts/fuzz.py ... --processes 14            14 at once, more than one for the larger targets
  scripts/fuzz.py ... --keep tests/fuzz/corpus  puts what is worth keeping there, an archive a target
  scripts/fuzz.py ... --add FILE.json           adds the numbers of earlier runs; may be repeated

A target begins with what tests/fuzz/corpus holds for it: a folder of files written by hand, and an
archive of what earlier runs have found worth keeping. Processes of one target share what they find. Hours are those of processors.
OUT holds found/TARGET-*, the inputs with which a target failed; corpus/TARGET; and fuzz.json.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARES = {"fuzz_plan": 3, "fuzz_convert": 3, "fuzz_c": 3}  # of the processes; others have one
MOST_KEPT = 600  # files of a target


def seeds_to(corpus, name, source):
    corpus.mkdir(parents=True, exist_ok=True)
    folder = source / name.removeprefix("fuzz_")
    if folder.is_dir():
        for path in folder.iterdir():
            shutil.copy(path, corpus / path.name)
    archive = source / f"{name.removeprefix('fuzz_')}.zip"
    if archive.exists():
        with zipfile.ZipFile(archive) as file:
            file.extractall(corpus)


def jobs_of(names, processes):
    """The targets of the processes, each target at least once."""
    jobs = list(names)
    wanted = [name for name in names for _ in range(SHARES.get(name, 1) - 1)]
    while len(jobs) < processes:
        jobs.append(wanted[(len(jobs) - len(names)) % len(wanted)] if wanted
                    else names[len(jobs) % len(names)])
    return jobs


def numbers_of(text):
    counters = re.search(r"Loaded 1 modules\s+\((\d+) inline", text)
    states = re.findall(r"cov: (\d+) ft: (\d+)", text)
    executions = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    if not executions:  # it failed: the last state says how many there were
        executions = re.findall(r"^#(\d+)\s", text, re.M)
    return {"points": int(counters[1]) if counters else 0,
            "coverage": max((int(c) for c, _ in states), default=0),
            "features": max((int(f) for _, f in states), default=0),
            "executions": int(executions[-1]) if executions else 0}


def fuzz(binary, number, arguments):
    """One process until the time is over; begun again where it has found something."""
    name = binary.name
    corpus = arguments.out / "corpus" / name
    begin = time.time()
    total = {"points": 0, "coverage": 0, "features": 0, "executions": 0}
    starts, busy = 0, 0.0
    while (left := arguments.seconds - (time.time() - begin)) >= 1 and starts < 20:
        log = arguments.out / "logs" / f"{name}-{number}-{starts}.log"
        command = [str(binary), f"-max_total_time={int(left)}", f"-seed={1 + number + 100 * starts}",
                   "-timeout=30", "-rss_limit_mb=3000", "-print_final_stats=1", "-reload=1",
                   f"-artifact_prefix={arguments.out}/found/{name}-", *arguments.option]
        dictionary = arguments.corpus / f"{name.removeprefix('fuzz_')}.dict"
        if dictionary.exists():
            command.append(f"-dict={dictionary}")
        with log.open("w") as file:
            process = subprocess.Popen([*command, str(corpus)], stdout=file, stderr=file)
            _, status, usage = os.wait4(process.pid, 0)
        busy += usage.ru_utime + usage.ru_stime
        starts += 1
        for key, value in numbers_of(log.read_text(errors="replace")).items():
            total[key] = total[key] + value if key == "executions" else max(total[key], value)
        if status == 0:
            break
    return name, total, busy


def minimise(binary, arguments):
    """The corpus without what adds nothing. What is covered with it is what has been covered."""
    name = binary.name
    corpus = arguments.out / "corpus" / name
    kept = arguments.out / "kept" / name
    kept.mkdir(parents=True, exist_ok=True)
    log = arguments.out / "logs" / f"{name}-merge.log"
    with log.open("w") as file:
        subprocess.run([str(binary), "-merge=1", "-timeout=30", "-rss_limit_mb=3000",
                        f"-max_total_time={arguments.merge_seconds}",
                        f"-artifact_prefix={arguments.out}/logs/", *arguments.option, str(kept),
                        str(corpus)], stdout=file, stderr=file, check=False)
    if any(kept.iterdir()):
        shutil.rmtree(corpus)
        kept.rename(corpus)


def keep(name, arguments):
    """An archive that is the same for the same files."""
    arguments.keep.mkdir(parents=True, exist_ok=True)
    files = sorted((arguments.out / "corpus" / name).iterdir(), key=lambda p: (p.stat().st_size, p.name))
    short = name.removeprefix("fuzz_")
    by_hand = {p.name for p in (arguments.corpus / short).glob("*")}
    with zipfile.ZipFile(arguments.keep / f"{short}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for path in sorted(p for p in files[:MOST_KEPT] if p.name not in by_hand):
            out.writestr(zipfile.ZipInfo(path.name[:16], (1980, 1, 1, 0, 0, 0)), path.read_bytes(),
                         zipfile.ZIP_DEFLATED)


def with_earlier(results, commit, earlier):
    """The numbers of all runs together, and the commits that they were of."""
    commits = [commit]
    total = {name: dict(of) for name, of in results.items()}
    for path in earlier:
        before = json.loads(path.read_text())
        commits.insert(0, before["commit"])
        for name, more in before["targets"].items():
            of = total.setdefault(name, {**more, "processes": 0, "seconds": 0.0, "executions": 0, "found": []})
            for key in ("processes", "seconds", "executions"):
                of[key] = round(of[key] + more[key], 1)
            for key in ("coverage", "features"):
                of[key] = max(of[key], more[key])
            of["found"] = sorted({*of["found"], *more["found"]})
    return total, ", ".join(dict.fromkeys(c for c in commits if c))


def write(results, arguments):
    for name, of in results.items():
        of["corpus"] = len(list((arguments.out / "corpus" / name).iterdir()))
        of["found"] = sorted(path.name for path in (arguments.out / "found").glob(f"{name}-*"))
    total, commits = with_earlier(results, arguments.commit, arguments.add)
    (arguments.out / "fuzz.json").write_text(json.dumps(
        {"what": "fuzzing", "date": time.strftime("%Y-%m-%d"), "commit": commits,
         "targets": dict(sorted(total.items()))}, indent=1) + "\n")


def table(results):
    rows = [["target", "processes", "hours", "executions", "covered", "of", "share", "corpus", "found"]]
    for name, of in results.items():
        share = f"{100 * of['coverage'] / of['points']:.0f} %" if of["points"] else "-"
        rows.append([name, str(of["processes"]), f"{of['seconds'] / 3600:.2f}",
                     f"{of['executions']:,}", f"{of['coverage']:,}", f"{of['points']:,}", share,
                     str(of["corpus"]), str(len(of["found"]))])
    rows.append(["all", str(sum(of["processes"] for of in results.values())),
                 f"{sum(of['seconds'] for of in results.values()) / 3600:.2f}",
                 f"{sum(of['executions'] for of in results.values()):,}", "", "", "",
                 str(sum(of["corpus"] for of in results.values())),
                 str(sum(len(of["found"]) for of in results.values()))])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths)))
                     for row in rows)


def arguments_given():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", type=pathlib.Path, required=True, help="the folder of fuzz_*")
    parser.add_argument("--seconds", type=int, default=600, help="of each process")
    parser.add_argument("--processes", type=int, default=1, help="at once")
    parser.add_argument("--corpus", type=pathlib.Path, default=ROOT / "tests/fuzz/corpus")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/fuzz")
    parser.add_argument("--keep", type=pathlib.Path, help="write minimised corpora to this folder")
    parser.add_argument("--add", type=pathlib.Path, action="append", default=[], help="earlier numbers")
    parser.add_argument("--merge-seconds", type=int, default=60)
    parser.add_argument("--targets", type=lambda text: text.split(","), help="these alone: plan,c")
    parser.add_argument("--option", action="append", default=[], help="one of libFuzzer's")
    parser.add_argument("--commit", default="")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    return arguments


def binaries_of(arguments):
    binaries = {path.name: path.resolve() for path in sorted(arguments.binaries.glob("fuzz_*"))
                if os.access(path, os.X_OK) and path.is_file()}
    if arguments.targets:
        binaries = {n: p for n, p in binaries.items() if n.removeprefix("fuzz_") in arguments.targets}
    if not binaries:
        sys.exit(f"no fuzz targets in {arguments.binaries}")
    return binaries


def add_up(runs):
    """The numbers of each target from those of its processes."""
    results = {}
    for name, numbers, seconds in runs:
        of = results.setdefault(name, {"processes": 0, "seconds": 0.0, "executions": 0,
                                       "coverage": 0, "points": 0, "features": 0})
        of["processes"] += 1
        of["seconds"] = round(of["seconds"] + seconds, 1)
        of["executions"] += numbers["executions"]
        for key in ("coverage", "points", "features"):
            of[key] = max(of[key], numbers[key])
    return results


def main():
    arguments = arguments_given()
    binaries = binaries_of(arguments)
    shutil.rmtree(arguments.out / "found", ignore_errors=True)
    for folder in ("found", "logs"):
        (arguments.out / folder).mkdir(parents=True, exist_ok=True)
    for name in binaries:
        seeds_to(arguments.out / "corpus" / name, name, arguments.corpus)

    jobs = jobs_of(list(binaries), arguments.processes)
    with concurrent.futures.ThreadPoolExecutor(max(arguments.processes, 1)) as pool:
        runs = [pool.submit(fuzz, binaries[name], i, arguments) for i, name in enumerate(jobs)]
        results = add_up(run.result() for run in runs)
        write(results, arguments)  # what follows takes a while
        list(pool.map(lambda binary: minimise(binary, arguments), binaries.values()))
    write(results, arguments)
    if arguments.keep:
        for name in results:
            keep(name, arguments)
    print(table(results))
    found = [name for of in results.values() for name in of["found"]]
    for name in found:
        print(f"found: {arguments.out}/found/{name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
