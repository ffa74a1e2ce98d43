#!/usr/bin/env python3
"""Makes the table of some fields of structures on a GPU, of docs/benchmark.md.

usage: fields_gpu_report.py publish [RESULT.json...]  writes the table (default: the newest results)
       fields_gpu_report.py check [RESULT.json...]    fails when the page says something else than the results
       fields_gpu_report.py table RESULT.json...      prints the table

RESULT.json and what lies beside it are those of random_gpu_report.py, of `bench --random COUNT --fields`.
"""
from random_gpu_report import CLOSE, Drawn, choices, mean_of, table, told_of_peers
from random_report import newest_on_gpu, run

ROWS = {
    "fields-to-arrays": "fields to an array each",
    "arrays-to-fields": "arrays to fields",
    "fields-to-packed": "fields to smaller structures",
    "packed-to-fields": "smaller structures to fields",
}


def text_of(paths):
    drawn = Drawn(paths, ROWS)
    seeds = sorted(c["suite"].split(":")[2] for c in (r["cases"][0] for r in drawn.results))
    return "\n\n".join(
        [
            f"{len(drawn.cases)} problems of seeds {', '.join(seeds)} on one {drawn.results[0]['provenance']['gpu']}. Share of the plain "
            "copy, geometric mean / worst, by bytes of an element. The last columns, of all sizes: what the 32-byte sectors "
            "that hold elements allow at most, the mean of the fastest candidates, how many choices take at most "
            f"{CLOSE:.2f} times as long as the fastest candidate, and how many times as long the worst one takes.",
            *told_of_peers(drawn),
            table(
                drawn,
                drawn.share,
                ["sectors allow", *["behind a peer"] * bool(drawn.peers), "best candidate", "% chosen well", "worst choice"],
                lambda cases: [mean_of(drawn.floor, cases), *choices(drawn, cases)],
            ),
        ]
    )


if __name__ == "__main__":
    run("bench/fields_gpu_report.py", __doc__, "bench-fields-gpu", text_of, lambda: newest_on_gpu("fields"))
