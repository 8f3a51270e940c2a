# SPDX-License-Identifier: Apache-2.0
"""First step and CPU seconds over the number of ranks, each by that of one rank alone in the same round: seconds of
different rounds may come from a busy machine and an idle one. One row of two plots for each series of a file of
measurements. Needs matplotlib."""
import results
from page import BACKENDS, CORES

MODES = {"plain": "C3", "visible": "C1", "library": "C0", "plain-own": "C5", "library-own": "C2"}


def series_title(series, machine):
    cores = CORES.get(series.cores, f"{series.cores} cores")
    return f"{BACKENDS[machine['backend']]}, torch {machine.get('torch')}, {series.job}\n{machine['cores']} cores; {cores}"


def curve(axes, rows, value, **style):
    points = [(row.ranks, value(row)) for row in rows if value(row).values]
    if points:
        ranks, spreads = zip(*points)
        middle = [spread.median for spread in spreads]
        below = [spread.median - min(spread.values) for spread in spreads]
        above = [max(spread.values) - spread.median for spread in spreads]
        axes.errorbar(ranks, middle, yerr=(below, above), marker="o", capsize=3, **style)


def draw(figure_axes, series, rows, machine):
    left, right = figure_axes
    for mode in [mode for mode in MODES if any(row.mode == mode for row in rows)]:
        mine = [row for row in rows if row.mode == mode]
        curve(left, mine, lambda row: row.ratio, color=MODES[mode], label=mode)
        curve(right, mine, lambda row: row.cpu_ratio, color=MODES[mode], label=mode)
    ranks = sorted({row.ranks for row in rows})
    for axes, text in ((left, "cold first step"), (right, "CPU s above warm")):
        axes.set(xlabel="ranks", ylabel=f"{text}, one rank = 1", xscale="log", ylim=(0, None))
        axes.axhline(1, color="0.6", linewidth=1, linestyle="--")
        axes.set_xticks(ranks, map(str, ranks))
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    left.set_title(series_title(series, machine), fontsize=9, loc="left")
    left.legend(fontsize=8)


def plot(data, path):
    """Writes an SVG (or what the name's ending says); False when matplotlib is absent."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "rankshare", "svg.fonttype": "none"})  # equal data, equal small file
    from matplotlib import pyplot
    table = results.summarise(data["runs"])
    figure, grid = pyplot.subplots(len(table), 2, figsize=(10, 3.6 * len(table)), squeeze=False, layout="constrained")
    for axes, (series, rows) in zip(grid, table.items()):
        draw(axes, series, rows, data["machines"][series.machine])
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    return True
