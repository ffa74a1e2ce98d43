#!/usr/bin/env python3
"""Profiles every program of bin/ with Nsight Compute; what each instruction did goes to OUT.

usage: profile_lines.py OUT [SECONDS]

Writes lines.json.gz after each program (so that what was measured is never lost), and log.txt.
"""
import csv, glob, gzip, io, json, os, re, shutil, subprocess, sys, time

START = time.time()
OUT = sys.argv[1]
BUDGET = float(sys.argv[2]) if len(sys.argv) > 2 else 420
EACH = 75
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ["/opt/nvidia/nsight-compute/*", "/usr/local/cuda/nsight-compute*", "/usr/local/cuda*/nsight-compute*",
           "/usr/local/NVIDIA-Nsight-Compute*"]
METRICS = ["inst_executed", "thread_inst_executed", "thread_inst_executed_true",
           "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal",
           "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"]
LABELS = {"Instructions Executed": "inst_executed", "Thread Instructions Executed": "thread_inst_executed",
          "Predicated-On Thread Instructions Executed": "thread_inst_executed_true",
          "L2 Theoretical Sectors Global": "memory_l2_theoretical_sectors_global",
          "L2 Theoretical Sectors Global Ideal": "memory_l2_theoretical_sectors_global_ideal",
          "L2 Ideal Sectors Global": "memory_l2_theoretical_sectors_global_ideal",
          "L1 Wavefronts Shared": "memory_l1_wavefronts_shared",
          "L1 Wavefronts Shared Ideal": "memory_l1_wavefronts_shared_ideal",
          "L1 Ideal Wavefronts Shared": "memory_l1_wavefronts_shared_ideal"}
MEMORY = re.compile(r"\b(LDG|STG|LDS|STS|LDGSTS|LDSM|STSM|ATOM|ATOMG|ATOMS|RED|REDG|LD|ST|LDL|STL|LDC)\b")
WANTED = re.compile(r"^(inst_executed|thread_inst_executed|thread_inst_executed_true|memory_.*)$")
os.makedirs(OUT, exist_ok=True)
log = open(os.path.join(OUT, "log.txt"), "w")


def say(*words):
    line = f"[{time.time() - START:6.1f}] " + " ".join(map(str, words))
    print(line, flush=True)
    print(line, file=log, flush=True)


def find_ncu():
    if shutil.which("ncu"):
        return "ncu"
    for folder in FOLDERS + ["/usr/local/cuda*/bin"]:
        for path in sorted(glob.glob(folder + "/ncu"), reverse=True):
            return path
    sys.exit("no ncu here")


def run(command, limit):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit)


def shape(action, what):
    values = []
    for axis in "xyz":
        metric = action.metric_by_name(f"launch__{what}_dim_{axis}")
        values.append(int(metric.value()) if metric is not None else None)
    return values


def by_module(report):
    for folder in FOLDERS:
        for path in sorted(glob.glob(folder + "/extras/python"), reverse=True):
            if path not in sys.path:
                sys.path.append(path)
    import ncu_report

    launches = []
    context = ncu_report.load_report(report)
    for r in range(context.num_ranges()):
        one = context.range_by_idx(r)
        for a in range(one.num_actions()):
            action = one.action_by_idx(a)
            mangled = None
            try:
                mangled = action.name(ncu_report.IAction.NameBase_MANGLED)
            except Exception:
                try:
                    mangled = action.name(action.NameBase_MANGLED)
                except Exception as error:
                    say("no mangled name:", error)
            rows = {}
            for name in action.metric_names():
                if not WANTED.match(name):
                    continue
                metric = action.metric_by_name(name)
                if metric is None or not metric.has_correlation_ids():
                    continue
                ids = metric.correlation_ids()
                for i in range(metric.num_instances()):
                    rows.setdefault(int(ids.value(i)), {})[name] = metric.value(i)
            first = min(rows) if rows else 0
            code = []
            for pc, values in sorted(rows.items()):
                sass = action.sass_by_pc(pc)
                if not MEMORY.search(sass):
                    continue
                place = [None, None]
                try:
                    info = action.source_info(pc)
                    if info is not None:
                        place = [info.file_name(), info.line()]
                except Exception:
                    pass
                code.append([pc - first, sass, place, {k: v for k, v in values.items() if v}])
            launches.append({"name": action.name(), "mangled": mangled, "grid": shape(action, "grid"),
                             "block": shape(action, "block"), "code": code, "instructions": len(rows)})
    return launches


def by_page(report):
    """The same from the pages of the command line; without places, in the order of the code."""
    text = run([NCU, "--import", report, "--page", "source", "--print-source", "sass", "--csv",
                "--print-units", "base"], 60).stdout
    launches, header = [], None
    for row in csv.reader(io.StringIO(text)):
        if "Source" in row and "Instructions Executed" in row:
            header = row
            launches.append({"name": None, "mangled": None, "grid": None, "block": None, "code": [],
                             "instructions": 0})
        elif header and len(row) == len(header):
            cells = dict(zip(header, row))
            launch = launches[-1]
            values = {}
            for label, name in LABELS.items():
                if label in cells:
                    value = cells[label].replace(",", "")
                    values[name] = float(value) if re.fullmatch(r"[\d.]+", value) else 0
            if MEMORY.search(cells["Source"]):
                launch["code"].append([16 * launch["instructions"], cells["Source"], [None, None],
                                       {k: v for k, v in values.items() if v}])
            launch["instructions"] += 1
    raw = run([NCU, "--import", report, "--page", "raw", "--csv", "--print-units", "base"], 60).stdout
    rows = list(csv.DictReader(line for line in raw.splitlines() if line.startswith('"')))[1:]
    for launch, row in zip(launches, rows):
        launch["name"] = row.get("Kernel Name")
        for what, column in (("grid", "Grid Size"), ("block", "Block Size")):
            launch[what] = [int(n) for n in re.findall(r"\d+", row.get(column, ""))]
    return launches


NCU = find_ncu()
names = sorted(os.listdir(os.path.join(HERE, "bin")),
               key=lambda n: ({"own": 0, "leet": 1}.get(n.split("_")[0], 2), n))
result = {"provenance": {}, "programs": {}}
try:
    gpu = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 30).stdout.strip()
    result["provenance"] = {"gpu": gpu.splitlines()[0].split(", ")[0], "driver": gpu.splitlines()[0].split(", ")[1],
                            "profiler": run([NCU, "--version"], 30).stdout.strip().splitlines()[-1],
                            "date": time.strftime("%Y-%m-%d"), "clocks": "as found (--clock-control none)"}
except Exception as error:
    say("provenance:", error)
say(result["provenance"])
scratch = "/tmp/check-lines-reports"
os.makedirs(scratch, exist_ok=True)
for name in names:
    left = BUDGET - (time.time() - START)
    if left < 15:
        say("no time left for", name)
        result["programs"][name] = {"failed": "no time left"}
        continue
    report = os.path.join(scratch, name + ".ncu-rep")
    program = os.path.join(HERE, "bin", name)
    os.chmod(program, 0o755)
    entry = result["programs"][name] = {}
    try:
        for attempt in (["--metrics", ",".join(METRICS + ["launch__grid_size"])] + ["--section", "LaunchStats"],
                        ["--section", "SourceCounters", "--section", "LaunchStats"]):
            done = run([NCU, "--force-overwrite", "--export", report, "--clock-control", "none", "--cache-control",
                        "none", "--import-source", "no", "--launch-count", "40", *attempt, program], min(EACH, left))
            if done.returncode == 0 and os.path.exists(report):
                break
            say(name, "rc", done.returncode, (done.stdout + done.stderr)[-600:].replace("\n", " | "))
        try:
            entry["launches"] = by_module(report)
            if sum(len(l["code"]) for l in entry["launches"]) == 0:
                raise ImportError("no instructions by the module")
        except Exception as error:
            say(name, "module:", repr(error))
            entry["launches"] = by_page(report)
        say(name, len(entry["launches"]), "launches,", sum(len(l["code"]) for l in entry["launches"]), "instructions")
    except Exception as error:
        entry["failed"] = repr(error)[-500:]
        say(name, "failed:", entry["failed"])
    with gzip.open(os.path.join(OUT, "lines.json.gz.part"), "wt") as file:
        json.dump(result, file)
    os.replace(os.path.join(OUT, "lines.json.gz.part"), os.path.join(OUT, "lines.json.gz"))
say("done:", sum("launches" in p for p in result["programs"].values()), "of", len(names), "programs")
first = next((p for p in result["programs"].values() if p.get("launches")), None)
if first:
    for row in first["launches"][0]["code"][:4]:
        say(row)
# One page as the command line prints it, in case that the module's numbers raise a question.
try:
    page = run([NCU, "--import", os.path.join(scratch, "own_graphs.ncu-rep"), "--page", "source", "--csv",
                "--print-source", "sass", "--print-units", "base"], 60).stdout
    with gzip.open(os.path.join(OUT, "page-own_graphs.csv.gz"), "wt") as file:
        file.write(page)
except Exception as error:
    say("page:", repr(error))
