#!/usr/bin/env python3
"""Plants bugs, one at a time, and says which of them the tests of their own layer find.

A mutant is a copy of the tree in which one operator, number or statement of src/ is another. What
depends on the changed file is compiled, and the tests of the layer run until one fails. Several
processes work on copies of their own, which share what is not compiled again.

  scripts/mutate.py --mutants 300 --processes 14 --seconds 500 --json OUT.json
  scripts/mutate.py --list --mutants 20      what would be tried
  scripts/mutate.py --only src/cpu/copy.cpp  mutants of these files alone
  scripts/mutate.py --again OUT.json         those first that lived then without a "why" that explains
                                             it (--mutants 0: no others)

The build in build/mutate has no unity files, -O1 and one vector target, so that little is compiled
for a mutant. --configure and --build make it; nothing else of the tree is written.
"""

import argparse
import collections
import concurrent.futures
import filecmp
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = "build/mutate"
LAYERS = ["core", "plan", "cpu", "kernels", "values", "io", "files", "shards"]
# Whose tests are whose: the longest beginning of a path counts.
TESTS = {
    "src/core/": ["test_core"],
    "src/core/fork": ["test_late"],
    "src/core/ggml": ["test_api"],
    "src/core/in_place": ["test_core", "test_in_place"],
    "src/plan/": ["test_plan", "test_kernels"],  # and what plans hold is run by the kernels
    "src/plan/gpu/": ["test_plan", "test_simt"],  # or by the emulator
    "src/plan/cpu/passes": ["test_in_place"],
    "src/plan/cpu/swap": ["test_in_place"],
    "src/cpu/": ["test_cpu", "test_in_place", "test_kernels"],
    "src/cpu/panels": ["test_in_place"],
    "src/cpu/passes": ["test_in_place"],
    "src/cpu/swap": ["test_in_place"],
    "src/kernels/": ["test_simt"],
    "src/values/": ["test_values"],
    "src/io/": ["test_io"],
    "src/files/": ["test_files", "test_io"],
    "src/shards/": ["test_shards"],
}
# Mutants of a file that so many others include would take most of the time.
MOST_OBJECTS = 40
FLAGS = f"-O1 -DNDEBUG -march=haswell -ffile-prefix-map={ROOT}=."
# A mutant may want all memory, or all of the disk.
BOUNDS = "ulimit -v 16000000 -f 4000000 -c 0;"

SWAPS = {
    " < ": [" <= ", " > "],
    " <= ": [" < "],
    " > ": [" >= ", " < "],
    " >= ": [" > "],
    " == ": [" != "],
    " != ": [" == "],
    " + ": [" - "],
    " - ": [" + "],
    " * ": [" + "],
    " / ": [" * "],
    " % ": [" / "],
    " && ": [" || "],
    " || ": [" && "],
    " += ": [" -= "],
    " -= ": [" += "],
    "++": ["--"],
    "--": ["++"],
    " << ": [" >> "],
    " >> ": [" << "],
    " & ": [" | "],
    " | ": [" & "],
    "std::min": ["std::max"],
    "std::max": ["std::min"],
    "true": ["false"],
    "false": ["true"],
}
TOKEN = re.compile(
    "|".join(re.escape(text) if text.startswith(" ") or not text[0].isalpha() else rf"\b{text}\b"
             for text in sorted(SWAPS, key=len, reverse=True)))
NUMBER = re.compile(r"(?<![\w.'\"])(\d{1,4})(?![\w.'\"])")
# Nothing that runs, or nothing that changes a result: directives, declarations, texts, prefetches of
# the CPU.
SKIPPED = re.compile(r"^\s*(#|//|template|using|namespace|static_assert|friend|case |HWY_|CT_API)"
                     r"|operator|static_assert|assert\(|__attribute__|std::vector<bool>|__builtin_prefetch")
STATEMENT = re.compile(r"^\s+(?!return|break|continue|throw|const |constexpr|static|auto|using|else|"
                       r"case|default|std::[\w:<>, ]+ \w+[ ({;=]|[A-Z]\w* \w+[;({ ]|int |bool |double "
                       r"|float |void |char )[\w\->.\[\]:()*]+.*;$")


def code_of(line):
    """The line without its texts and comments, which become blanks of the same length."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: " " * len(m[0]), line)
    line = re.sub(r"'(?:[^'\\]|\\.)'", lambda m: " " * len(m[0]), line)
    return re.sub(r"//.*", lambda m: " " * len(m[0]), line)


def mutants_of(path):
    all_lines = (ROOT / path).read_text().splitlines()
    out = []
    for number, line in enumerate(all_lines, 1):
        code = code_of(line)
        if SKIPPED.search(code) or not code.strip():
            continue
        for found in TOKEN.finditer(code):
            # `Type & name` and `Type* name` stand without blanks here: these are operators.
            for other in SWAPS[found[0]]:
                out.append((number, line, line[:found.start()] + other + line[found.end():]))
        for found in NUMBER.finditer(code):
            value = int(found[1])
            out.append((number, line, line[:found.start()] + str(value + 1) + line[found.end():]))
        begins = number == 1 or re.search(r"(^|[;{}])\s*$", code_of(all_lines[number - 2]))
        if begins and STATEMENT.match(code) and code.count("(") == code.count(")"):
            out.append((number, line, re.match(r"\s*", line)[0] + ";"))
        condition = re.match(r"(\s*(?:} else )?if \()(.*)(\) (?:return|\{|continue|break|throw).*)$",
                             line)
        if condition and ";" not in condition[2] and "constexpr" not in line:
            out.append((number, line, f"{condition[1]}!({condition[2]}){condition[3]}"))
    return [{"file": str(path), "line": n, "was": was, "is": now} for n, was, now in out]


def tests_of(path):
    return TESTS[max((begin for begin in TESTS if str(path).startswith(begin)), key=len)]


def tests_of_all(arguments):
    """The tests of the files that are named, or of all layers."""
    named = list(arguments.only or ())
    if arguments.again and (named or arguments.mutants == 0):
        named += [mutant["file"] for mutant in again(arguments.again)]
    if named:
        return sorted({test for path in named for test in tests_of(path)})
    return sorted({test for begin, tests in TESTS.items()
                   if begin.split("/")[1] in arguments.layers for test in tests})


def files_of(layer):
    folder = ROOT / "src" / layer
    return sorted(p.relative_to(ROOT) for p in folder.rglob("*")
                  if p.suffix in (".cpp", ".hpp") and not p.stem.endswith("_gpu"))  # without a GPU


class Build:
    """The commands of the build, and which of them a changed file concerns."""

    def __init__(self, all_tests):
        ninja = ["ninja", "-C", str(ROOT / BUILD)]
        self.commands = {}
        for test in all_tests:
            text = subprocess.run([*ninja, "-t", "commands", test], check=True,
                                  capture_output=True, text=True).stdout
            self.commands[test] = [line for line in text.splitlines() if line]
        deps = subprocess.run([*ninja, "-t", "deps"], check=True, capture_output=True,
                              text=True).stdout
        self.linked = {test: self.members_of(test) for test in self.commands}
        self.objects = collections.defaultdict(set)
        output = None
        for line in deps.splitlines():
            if line and not line.startswith(" "):
                output = line.split(": #deps")[0]
            elif line.strip():
                path = os.path.normpath(os.path.join(ROOT / BUILD, line.strip()))
                self.objects[path].add(output)

    def members_of(self, test):
        """The names of the objects that the test and its shared libraries are linked from, members of
        archives too (-t twice)."""
        text = ""
        for command in self.commands[test]:
            linked = re.search(rf" -o (bin/{test}|lib/\S+\.so\S*)(?=\s|$)", command)
            if linked:
                text += subprocess.run(command.replace(linked[0], " -Wl,-t,-t -o /dev/null"), shell=True,
                                       cwd=ROOT / BUILD, check=False, capture_output=True, text=True).stdout
        return set(re.findall(r"([^\s/()]+\.o)\b", text))

    def affected(self, path, test):
        """The commands that make `test` again, and what they write."""
        changed = set(self.objects.get(str(ROOT / path), ()))
        commands, outputs = [], []
        objects = 0
        for command in self.commands[test]:
            words = set(re.split(r"[\s\"';&|]+", command))
            found = re.search(r" -o (\S+) -c ", command)
            if found:
                if found[1] not in changed:
                    continue
                if os.path.basename(found[1]) not in self.linked[test]:
                    changed.discard(found[1])
                    continue
                objects += 1
                output = found[1]
            else:
                if not words & changed:
                    continue
                written = re.search(r" (?:qc|-o) +(\S+)", command)
                if written is None:
                    continue
                output = written[1]
            changed.add(output)
            commands.append((command, output))
        # Objects first: where all are what they were, nothing else is made.
        return sorted(commands, key=lambda made: not made[1].endswith(".o")), objects


def in_copy(command, place):
    """What compiles the copy. Texts that tests hold name the tree, so that their code is the same."""
    return re.sub(rf'(?<!SOURCE_DIR=\\"){re.escape(str(ROOT))}(?!\w)', str(place), command)


def copy_of_tree(place):
    """The sources as files of its own; what is built as links, which are replaced when written."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for folder in ("src", "include", "tests", "bench", "devices", "cmake", "tools", "examples"):
        shutil.copytree(ROOT / folder, place / folder, symlinks=True,
                        ignore=shutil.ignore_patterns("results", "__pycache__"))
    for name in ("CMakeLists.txt", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, place / name)
    (place / "build").mkdir()
    subprocess.run(["cp", "-a", "--reflink=never", "-l", str(ROOT / BUILD), str(place / BUILD)],
                   check=False)
    if not (place / BUILD / "build.ninja").exists():  # another file system
        shutil.rmtree(place / BUILD, ignore_errors=True)
        subprocess.run(["cp", "-a", str(ROOT / BUILD), str(place / BUILD)], check=True)


def run(command, place, seconds):
    """The exit status, or None where it took too long."""
    process = subprocess.Popen(command, shell=True, cwd=place / BUILD, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return None


def compile_mutant(build, mutant, test, place):
    """Compiles what the test needs; what was written before is kept aside. Returns "built", "not
    compiled", or "same code" where the compiler makes of the mutant what it made of the original."""
    commands, _ = build.affected(mutant["file"], test)
    kept = []
    same = True
    for command, output in commands:
        target = place / BUILD / output
        aside = target.with_name(target.name + ".kept")
        if target.exists() and not aside.exists():
            target.rename(aside)
            kept.append((aside, target))
        else:
            target.unlink(missing_ok=True)
        if not output.endswith(".o") and same:
            return "same code", kept
        if run(in_copy(command, place), place, 600) != 0:
            return "not compiled", kept
        same = same and filecmp.cmp(aside, target, shallow=False)
    return "same code" if same else "built", kept


def try_one(build, mutant, place, tests):
    """found, lived, too long, not compiled, or same code."""
    path = place / mutant["file"]
    text = path.read_text()
    lines = text.split("\n")
    changed = slice(mutant["line"] - 1, mutant["line"] + mutant["was"].count("\n"))
    if "\n".join(lines[changed]) != mutant["was"]:
        raise RuntimeError(f"the copy differs: {mutant}")
    lines[changed] = [mutant["is"]]
    path.write_text("\n".join(lines))
    verdict, by, differs = "lived", None, False
    kept = []
    begin = time.time()
    try:
        for test in tests_of(mutant["file"]):
            made, more = compile_mutant(build, mutant, test, place)
            kept += more
            if made == "not compiled":
                return made, None, time.time() - begin
            if made == "same code":
                continue
            differs = True
            original = tests[test].result()
            status = run(original.command, place, original.seconds)
            if status is None:
                verdict, by = "too long", test
            elif status != 0:
                verdict, by = "found", test
            if verdict != "lived":
                break
        return verdict if differs else "same code", by, time.time() - begin
    finally:
        path.write_text(text)
        for aside, target in reversed(kept):
            target.unlink(missing_ok=True)
            aside.rename(target)


def again(path):
    """The mutants of a results file that lived, where their lines are now."""
    out = []
    for mutant in json.loads(pathlib.Path(path).read_text())["results"]:
        if mutant["verdict"] != "lived" or "why" in mutant:
            continue
        lines = (ROOT / mutant["file"]).read_text().splitlines()
        size = mutant["was"].count("\n") + 1  # one that was planted by hand may have several lines
        places = [n for n in range(1, len(lines) + 1)
                  if "\n".join(lines[n - 1:n - 1 + size]) == mutant["was"]]
        if not places:
            print(f"gone: {mutant['file']}:{mutant['line']} {mutant['was'].strip()}")
            continue
        line = min(places, key=lambda n: abs(n - mutant["line"]))
        out.append({key: mutant[key] for key in ("layer", "file", "was", "is")} | {"line": line})
    return out


def choose(arguments, build):
    """Mutants of all layers in turns, so that whatever is tried is a sample of each."""
    random_ = random.Random(arguments.seed)
    of_layer, too_many = {}, 0
    for layer in dict.fromkeys(arguments.layers):  # one may be named more than once, for more of it
        mutants = []
        for path in files_of(layer) if arguments.mutants else ():
            if arguments.only and str(path) not in arguments.only:
                continue
            if build is not None:
                objects = max(build.affected(path, test)[1] for test in tests_of(path))
                if objects == 0:
                    continue
                if objects > MOST_OBJECTS:
                    too_many += 1
                    continue
            mutants += [{"layer": layer, **mutant} for mutant in mutants_of(path)]
        random_.shuffle(mutants)
        of_layer[layer] = mutants
    chosen = again(arguments.again) if arguments.again else []
    while len(chosen) < arguments.mutants and any(of_layer.values()):
        for layer in arguments.layers:
            if of_layer[layer] and len(chosen) < arguments.mutants:
                chosen.append(of_layer[layer].pop())
    return chosen, too_many


class Results:
    """What is known of the mutants; the file holds it at any time."""

    def __init__(self, arguments, files_left_out):
        self.path = pathlib.Path(arguments.json) if arguments.json else None
        commit = arguments.commit or subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        self.head = {"what": "mutants", "date": time.strftime("%Y-%m-%d"), "commit": commit,
                     "seed": arguments.seed, "files_left_out": files_left_out}
        self.all = []
        self.lock = threading.Lock()

    def write(self):
        if self.path:
            self.path.write_text(json.dumps({**self.head, "results": self.all}, indent=1) + "\n")

    def add(self, result):
        with self.lock:
            self.all.append(result)
            self.write()
            print(f"{result['verdict']:<13} {result['file']}:{result['line']}  "
                  f"{result['is'].strip()}", flush=True)


def worker(number, build, queue, arguments, tests, deadline, results):
    place = pathlib.Path(arguments.work) / f"m{number:02}"
    copy_of_tree(place)
    while queue and time.time() < deadline:
        mutant = queue.popleft()
        verdict, by, seconds = try_one(build, mutant, place, tests)
        results.add({**mutant, "verdict": verdict, "by": by, "seconds": round(seconds, 1)})
    shutil.rmtree(place, ignore_errors=True)


def configure(arguments):
    command = ["cmake", "-S", str(ROOT), "-B", str(ROOT / BUILD), "-G", "Ninja",
               "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={FLAGS}",
               "-DCMAKE_UNITY_BUILD=OFF", "-DCORNERTURN_WERROR=OFF", "-DCORNERTURN_BUILD_TOOLS=OFF",
               "-DCORNERTURN_BUILD_EXAMPLES=OFF", "-DCORNERTURN_PAGE=OFF",
               "-DCMAKE_CXX_COMPILER_LAUNCHER="]
    subprocess.run(command + shlex.split(arguments.cmake), check=True, stdout=subprocess.DEVNULL)


def build_tests(arguments):
    tests = tests_of_all(arguments)
    subprocess.run(["cmake", "--build", str(ROOT / BUILD), "-j", str(arguments.processes),
                    "--target", *tests], check=True, stdout=subprocess.DEVNULL)


class Test:
    """How a test is run: without the cases that fail on this machine without a mutant, for three times
    as long as it takes now, with all others at once, and ten seconds."""

    def __init__(self, name):
        self.command = f"{BOUNDS} GTEST_FAIL_FAST=1 bin/{name} --gtest_brief=1"
        self.left_out = []
        begin = time.time()
        done = subprocess.run(f"{BOUNDS} bin/{name} --gtest_brief=1", shell=True, cwd=ROOT / BUILD,
                              capture_output=True, text=True, errors="replace", check=False)
        took = time.time() - begin
        if done.returncode != 0:
            self.left_out = sorted(set(re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", done.stdout, re.M)))
            if not self.left_out:
                sys.exit(f"{name} fails without a mutant:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            self.command += f" --gtest_filter='-{':'.join(self.left_out)}'"
        print(f"{name} takes {took:.0f} s" +
              (f", without {', '.join(self.left_out)}" if self.left_out else ""), flush=True)
        self.seconds = 10 + 3 * took


def summary(results):
    count = collections.defaultdict(collections.Counter)
    for result in results:
        count[result["layer"]][result["verdict"]] += 1
        count["all"][result["verdict"]] += 1
    lines = [f"{'layer':<9}{'mutants':>8}{'found':>7}{'too long':>9}{'lived':>7}{'share':>8}"]
    for layer, of in count.items():
        found = of["found"] + of["too long"]
        total = found + of["lived"]
        if total:
            lines.append(f"{layer:<9}{total:>8}{of['found']:>7}{of['too long']:>9}{of['lived']:>7}"
                         f"{100 * found / total:>7.1f}%")
    lines.append(f"{count['all']['not compiled']} more do not compile, and of "
                 f"{count['all']['same code']} the compiler makes the same code.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further mutant after")
    parser.add_argument("--layers", type=lambda t: t.split(","), default=LAYERS)
    parser.add_argument("--only", action="append", help="a file; may be repeated")
    parser.add_argument("--again", help="a file of results: try those again that lived")
    parser.add_argument("--work", default=str(ROOT / "build/mutants"), help="a folder for the copies")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--commit", help="the commit to name in the results (default: HEAD)")
    parser.add_argument("--cmake", default="", help="more options of CMake")
    parser.add_argument("--list", action="store_true", help="only say what would be tried")
    arguments = parser.parse_args()
    began = time.time()
    if arguments.list:
        for mutant in choose(arguments, None)[0]:
            print(f"{mutant['file']}:{mutant['line']}\n- {mutant['was']}\n+ {mutant['is']}")
        return 0
    configure(arguments)
    build_tests(arguments)
    print(f"built in {time.time() - began:.0f} s", flush=True)
    build = Build(tests_of_all(arguments))
    chosen, too_many = choose(arguments, build)
    queue = collections.deque(chosen)
    deadline = began + arguments.seconds
    with concurrent.futures.ThreadPoolExecutor(arguments.processes + len(build.commands)) as pool:
        tests = {name: pool.submit(Test, name) for name in build.commands}
        results = Results(arguments, too_many)
        tasks = [pool.submit(worker, i, build, queue, arguments, tests, deadline, results)
                 for i in range(arguments.processes)]
        for task in tasks:
            task.result()
        results.head["cases_left_out"] = [case for test in tests.values() for case in test.result().left_out]
        results.write()
    print(summary(results.all))
    for result in results.all:
        if result["verdict"] == "lived":
            print(f"\n{result['file']}:{result['line']}\n- {result['was']}\n+ {result['is']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
