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
    ("smem_chunk_xor|block_order_.*", "10007 .*",
     "No row begins at a multiple of 16 bytes, so a loop moves single elements, a few at a time. Each turn of the "
     "loop waits for its loads, and for the tile. The model knows the first kind of wait only."),
    ("shuffle", "10007 .*",
     "No row begins at a multiple of 16 bytes, so single elements are moved. A warp comes back to each sector "
     "several times. The model has one price for that, and the caches make it cheaper here."),
    ("cute_smem_.*|smem_pad.*", "10007 .*",
     "Rows begin within a sector, and the neighbouring block writes the sector's other part. The model has one price "
     "for that. It is lower where both blocks run at about the same time."),
    (".*", "16416 .*",
     "At 16384 x 16384 the prediction is near. Here the tiles at two edges are cut, and no count differs "
     "otherwise. We do not know the reason."),
    ("cpy_transpose", r"\d+ x \d+ x .*",
     "A block goes from matrix to matrix, and small elements fill short pieces of each. Eight large matrices are slower "
     "than many small ones, which no count tells apart. We do not know the reason."),
    (".*", "32768 .*",
     "The rung is some points slower here than at 16384 x 16384, and the model knows no reason for that. Nor do we."),
    ("cpy_by_hand", ".*",
     "Issue and memory take about the same time. The model adds something where two parts are near each "
     "other, and in this kernel they overlap better than in the others."),
    (".*", "4096 .*",
     "The rung takes more or less of the copy's time here than at 16384 x 16384, and the model knows no reason for "
     "that. Nor do we."),
    (".*", ".*", "We do not know the reason."),
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
