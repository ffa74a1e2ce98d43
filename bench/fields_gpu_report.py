#!/usr/bin/env python3
"""Makes the table of some fields of structures on a GPU, of docs/results-gpu.md.

usage: fields_gpu_report.py publish [RESULT.json...]  writes the table (default: the newest results)
       fields_gpu_report.py check [RESULT.json...]    fails when the page says something else than the results
       fields_gpu_report.py table RESULT.json...      prints the table

RESULT.json and what lies beside it are those of random_gpu_report.py, of `bench --random COUNT --fields`.
"""
from random_gpu_report import Drawn, seeds_of, share_table, told_of_peers
from random_report import newest_on_gpu, run
from report import GPU_PAGE

ROWS = {
    "fields-to-arrays": "fields to an array each",
    "arrays-to-fields": "arrays to fields",
    "fields-to-packed": "fields to smaller structures",
    "packed-to-fields": "smaller structures to fields",
}


def text_of(paths):
    drawn = Drawn(paths, ROWS)
    gpu = drawn.results[0]["provenance"]["gpu"]
    first = f"{len(drawn.cases)} problems of seeds {seeds_of(drawn)} on one {gpu}, in the same columns."
    return "\n\n".join([first, share_table(drawn), *told_of_peers(drawn)])


if __name__ == "__main__":
    run("bench/fields_gpu_report.py", __doc__, GPU_PAGE, "bench-fields-gpu", text_of, lambda: newest_on_gpu("fields"))
