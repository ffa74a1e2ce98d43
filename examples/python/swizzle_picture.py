"""Why a transposition pads or swizzles its tile: what a warp pays to write a 32 x 32 tile of shared
memory by rows and to read it by columns; and which layout lets it do both 16 bytes a lane.

usage: swizzle_picture.py [PICTURE.svg]"""

import sys
from pathlib import Path

import cornerturn

rows = cornerturn.Layout((32, 32), (32, 1))
padded = cornerturn.Layout((32, 32), (33, 1))
swizzled = cornerturn.Swizzle(5, 0, 5) @ rows

for tile in (rows, padded, swizzled):
    banks = {tile(row, 7) % 32 for row in range(32)}  # of the elements of one column
    cost = cornerturn.explain(tile, ["rows:store", "columns:load"])
    write, read = cost.accesses
    # As many lanes at a time as there are banks: 32 at the floor.
    assert read.wavefronts * len(banks) == 32 * write.wavefronts
    print(f"{str(tile):34} {len(banks):2} banks a column; write {write.wavefronts}, read {read.wavefronts}")
    if not cost.clean:
        print(f"    {read.why}")

found = cornerturn.solve((32, 32), "float32", write="rows", read="columns", vector=16)
assert found.clean and cornerturn.explain(found.layout, ["rows:store:16", "blocks:load:16"]).clean
print(f"\n16 bytes a lane: {found.best.text}, {found.verdict}\n{found.code['cuda']}")

picture = Path(sys.argv[1] if len(sys.argv) > 1 else "swizzle.svg")
picture.write_text(found.svg())
