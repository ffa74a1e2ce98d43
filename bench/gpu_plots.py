"""The two plots of the GPU's results: shares sorted, a line a library; every case, a square each."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from gpu_report import ALL, OURS, ROWS, SIZES, TITLES, mean
from matplotlib.colors import BoundaryNorm

# Okabe and Ito's palette: distinguishable with any colour vision.
STYLE = {
    OURS: ("#D55E00", "-", 2.6),
    "torch": ("#009E73", "-.", 1.5),
    "torch_compile": ("#009E73", "-", 1.5),
    "triton": ("#E69F00", "--", 1.5),
    "jax": ("#CC79A7", "-", 1.3),
    "cupy": ("#56B4E9", ":", 2.0),
    "cublas_geam": ("#0072B2", (0, (1, 1)), 1.8),
    "cutensor": ("#000000", "-", 1.5),
    "cccl": ("#000000", ":", 1.5),
}
LEVELS = [0, 10, 25, 50, 60, 70, 80, 85, 90, 94, 97, 110]


def draw(shares, sorted_path, heat_path):
    plt.rcParams.update({"font.size": 11, "svg.hashsalt": "cornerturn", "font.family": "DejaVu Sans"})
    sorted_shares(shares, sorted_path)
    heat_map(shares, heat_path)


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None}, bbox_inches="tight")
    figure.savefig(path.with_suffix(".png"), dpi=160, bbox_inches="tight")
    plt.close(figure)
    print(f"{path.name}.svg and .png written")


def sorted_shares(shares, path):
    figure, axes = plt.subplots(figsize=(8, 4.5))
    axes.axhline(100, color="0.45", linewidth=1)
    keys = shares.keys([ALL])
    for subject in [OURS, *shares.peers]:
        values = sorted((100 * shares.of[subject][k] for k in keys if k in shares.of[subject]), reverse=True)
        if not values:
            continue
        colour, dashes, width = STYLE[subject]
        label = f"{TITLES[subject]} ({mean([v / 100 for v in values])} %, {len(values)} cases)"
        axes.plot(range(1, len(values) + 1), values, color=colour, linestyle=dashes, linewidth=width, label=label)
    axes.set_ylim(0, 112)
    axes.set_xlim(0, None)
    axes.set_yticks(range(0, 101, 20), [f"{t} %" for t in range(0, 101, 20)])
    axes.set_xlabel("public cases, each library's fastest first")
    axes.set_ylabel("speed as share of the plain copy")
    gpu = shares.runs[OURS]["provenance"]["gpu"]
    axes.set_title(f"Transposing and permuting on an {gpu}", loc="left", fontsize=12)
    axes.grid(axis="y", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.14), ncols=3)
    save(figure, path)


def heat_map(shares, path):
    """Columns are cases, by class; rows are element sizes; above ours, below the best peer."""
    columns, borders = [], []
    for title, (groups, _) in ROWS.items():
        names = sorted({(k[0], k[1], k[3]) for k in shares.keys(groups)})
        if names:
            borders.append((title, len(columns), len(columns) + len(names)))
            columns += names
    figure, panels = plt.subplots(2, 1, figsize=(13, 5.2), sharex=True)
    norm = BoundaryNorm(LEVELS, plt.get_cmap("RdYlGn").N)
    best = {k: b[0] for k in shares.cases if (b := shares.best_peer(k))}
    for axes, title, values in ((panels[0], TITLES[OURS], shares.ours), (panels[1], "best peer of the case", best)):
        grid = np.full((len(SIZES), len(columns)), np.nan)
        for x, (suite, case, warm) in enumerate(columns):
            for y, size in enumerate(SIZES):
                grid[y, x] = 100 * values.get((suite, case, size, warm), np.nan)
        image = axes.imshow(np.ma.masked_invalid(grid), aspect="auto", norm=norm, cmap="RdYlGn", interpolation="nearest")
        axes.set_yticks(range(len(SIZES)), [f"{size} B" for size in SIZES])
        axes.set_facecolor("0.93")
        axes.set_title(title, loc="left", fontsize=11)
        for _, first, _ in borders[1:]:
            axes.axvline(first - 0.5, color="black", linewidth=0.8)
    centres = [(first + last - 1) / 2 for _, first, last in borders]
    panels[1].set_xticks(centres, [t for t, _, _ in borders], rotation=25, ha="right", fontsize=9)
    bar = figure.colorbar(image, ax=panels, ticks=LEVELS[1:-1], fraction=0.03, pad=0.01)
    bar.set_label("% of the plain copy")
    save(figure, path)
