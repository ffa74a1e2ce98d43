import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release"))
PAGE = BUILD / "page" / "lab.html"
PROGRAM = BUILD / "bin" / "cornerturn"
