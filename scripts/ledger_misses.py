"""Why the ledger's prediction of a rung is more than 5 points off, for each case that `ledger_check` lists."""

import re

CASE = re.compile(
    r"^(\w+) +((?:\d+ x )?\d+ x \d+ of \d B(?:, fused)?): (\d+) % predicted, (\d+) % measured$", re.M
)

# (rungs, matrix and bytes of an element, why): the first line that fits a case.
REASONS = [(re.compile(rungs), re.compile(case), why) for rungs, case, why in (
    ("cpy_rows", ".*",
     "A store into the tile waits for its load here, so that a thread waits for the memory twice and not once. The "
     "model counts both waits, but the mean price of a wait is too low for this kernel."),
    ("block_order_.*", "10007 .*",
     "The other orders of this kernel are predicted within 5 points here. No cause is known."),
    ("shuffle", "10007 .*",
     "Most rows begin within 16 bytes, so single elements are moved. A warp comes back to each sector "
     "several times. The model has one price for that, which is too high here."),
    (".*", "16416 .*",
     "At 16384 x 16384 the prediction is near. Here the tiles at two edges are cut, and no count differs "
     "otherwise. No cause is known."),
    ("cpy_transpose", r"\d+ x \d+ x .*",
     "Stacks of floats of these shapes are predicted within 5 points. No cause is known."),
    (".*", "32768 .*",
     "The rung is some points slower here than at 16384 x 16384. No cause is known."),
    (".*", "4096 .*",
     "The rung reaches another share of the copy here than at 16384 x 16384, and no count tells the two apart. No "
     "cause is known."),
    (".*", ".*", "No cause is known."),
)]  # fmt: skip


def cases(text):
    """(rung, matrix and element, predicted, measured) of each line of `ledger_check judge --cases`."""
    return [
        (name, case, int(predicted), int(measured)) for name, case, predicted, measured in CASE.findall(text)
    ]


def reason(name, case):
    return next(why for rungs, places, why in REASONS if rungs.fullmatch(name) and places.fullmatch(case))


def of_rung(name, text):
    """What the rung's page says of its misses."""
    reasons = {}
    for rung, case, predicted, measured in cases(text):
        if rung == name:
            where = f"{case} ({predicted} % predicted, {measured} % measured)"
            reasons.setdefault(reason(name, case), []).append(where)
    if not reasons:
        return []
    lines = ["", "Predictions that are more than 5 points off:", ""]
    return lines + [f"- {', '.join(where)}. {why}" for why, where in reasons.items()]


def by_reason(text):
    """What the page of the ledger says: each reason, and the rungs that it is about."""
    reasons = {}
    for rung, case, *_ in cases(text):
        places = reasons.setdefault(reason(rung, case), {})
        places.setdefault(case, []).append(f"`{rung}`")
    lines = []
    for why, places in reasons.items():
        where = "; ".join(f"{', '.join(rungs)} at {case}" for case, rungs in places.items())
        lines.append(f"- {where}. {why}")
    return "\n".join(lines)
