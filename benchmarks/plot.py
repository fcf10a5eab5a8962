"""Draws the results as SVG: bars of the ratios to others, and lines of what grows with the number of records."""

from __future__ import annotations

import math
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from benchmarks.contract import PROMISES, SECTIONS
from benchmarks.measure import Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.results import Comparison, Point, Results

_WIDTH, _LEFT, _RIGHT = 900, 400, 700
_ROW, _TOP = 22, 76
_ONE_FLOOR = ("resolve", "start-up")
_GROWING = {"import": "a", "verify": "b", "add": "c", "resolve": "d"}
_LIMITS = {promise.key: promise.limit for promise in PROMISES}

_STYLE = """
  svg { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
  .paper { fill: #ffffff; } text { fill: #1f2328; } .quiet { fill: #59636e; }
  .title { font-size: 16px; font-weight: 600; }
  .group { font-weight: 600; } .grid { stroke: #d1d9e0; } .one { stroke: #1f2328; stroke-width: 1.5; }
  .spread { stroke: #1f2328; stroke-opacity: 0.65; stroke-width: 1.5; } .limit { stroke: #cf222e; stroke-width: 3; }
  .faster { fill: #2f9e5b; } .slower { fill: #e08a1e; }
  .line { fill: none; stroke-width: 2.5; } .other { stroke-dasharray: 4 4; stroke-width: 1.5; }
  .a { stroke: #0969da; } .b { stroke: #2f9e5b; } .c { stroke: #cf222e; } .d { stroke: #8250df; }
  .dot.a { fill: #0969da; } .dot.b { fill: #2f9e5b; } .dot.c { fill: #cf222e; } .dot.d { fill: #8250df; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; } text { fill: #f0f6fc; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; }
    .one, .spread { stroke: #f0f6fc; } .limit { stroke: #ff7b72; } .faster { fill: #2ea05a; } .slower { fill: #c9791a; }
    .a { stroke: #58a6ff; } .b { stroke: #3fb950; } .c { stroke: #ff7b72; } .d { stroke: #bc8cff; }
    .dot.a { fill: #58a6ff; } .dot.b { fill: #3fb950; } .dot.c { fill: #ff7b72; } .dot.d { fill: #bc8cff; }
  }
"""


def plot(results: Results) -> str:
    """Give the picture; a half for which nothing was measured is left out."""
    height, parts = 0, []
    for half in (_bars(results), _lines(results)):
        if half:
            tall, content = half
            parts.append(f'<g transform="translate(0 {height})">\n{content}\n</g>')
            height += tall
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {max(height, 1)}" role="img">\n'
        f"<title>kstore's speed against others', and as registries grow</title>\n<style>{_STYLE}</style>\n"
        f'<rect class="paper" width="100%" height="100%"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _bars(results: Results) -> tuple[int, str] | None:
    """Draw a bar from 1 to each ratio, on a logarithmic scale, with a whisker from the least to the greatest."""
    chosen = [(key, each) for key, each in results.comparisons.items() if each.unit == "s" and each.plotted]
    if not chosen:
        return None
    heads = [_head(each) for _, each in chosen]
    chosen.sort(key=lambda item: (list(SECTIONS).index(item[1].section), heads.index(_head(item[1]))))
    least, greatest = _decades([value for _, each in chosen for value in (each.ratio.least, each.ratio.greatest, 1)])
    scale = _logarithmic(least, greatest, _LEFT, _RIGHT)
    parts, y = [], float(_TOP)
    for head, rows in groupby(chosen, key=lambda item: _head(item[1])):
        parts.append(_text(20, y + 15, head, "group"))
        y += _ROW
        for key, each in rows:
            parts.append(_bar(each, scale, y, _LIMITS.get(key)))
            y += _ROW
        y += 6
    ticks = [
        tick for tick in (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if least <= tick <= greatest
    ]
    grid = [_line(scale(tick), _TOP - 4, scale(tick), y, "one" if tick == 1 else "grid") for tick in ticks]
    labels = [_text(scale(tick), y + 18, f"{tick:g}", "quiet", "middle") for tick in ticks]
    axis = _text((_LEFT + _RIGHT) / 2, y + 38, "kstore's time divided by the other's (logarithmic)", "quiet", "middle")
    title = [
        _text(20, 30, "Times as long as others take", "title"),
        _text(20, 52, "Left of 1 kstore is faster. Whiskers: least and greatest of pairs run side by side.", "quiet"),
        _line(_WIDTH - 176, 41, _WIDTH - 176, 55, "limit"),
        _text(_WIDTH - 20, 52, "at most, as promised", "quiet", "end"),
    ]
    return int(y + 58), "\n".join([*title, *grid, *parts, *labels, axis])


def _head(each: Comparison) -> str:
    """Give what a bar has in common with its neighbours: the work, or where much is held against the same, that."""
    return f"against {each.against}" if each.section in _ONE_FLOOR else each.work


def _label(each: Comparison) -> str:
    return each.work if each.section in _ONE_FLOOR else each.against


def _bar(each: Comparison, scale: Callable[[float], float], y: float, limit: float | None) -> str:
    ratio, middle = each.ratio, y + _ROW / 2
    start, end = sorted((scale(1), scale(ratio.median)))
    kind = "faster" if ratio.median <= 1 else "slower"
    parts = [
        _text(_LEFT - 12, middle + 4, _shortened(_label(each)), "", "end"),
        f'<rect class="{kind}" x="{start:.1f}" y="{y + 4:.1f}" width="{max(end - start, 1):.1f}" height="{_ROW - 8}"/>',
        _line(scale(ratio.least), middle, scale(ratio.greatest), middle, "spread"),
    ]
    if limit:
        parts.append(_line(scale(limit), y + 2, scale(limit), y + _ROW - 2, "limit"))
    spread = f"{ratio.median:.2f}  [{ratio.least:.2f}, {ratio.greatest:.2f}]"
    return "\n".join([*parts, _text(_RIGHT + 30, middle + 4, spread)])


def _lines(results: Results) -> tuple[int, str] | None:
    """Draw the seconds of each operation on bare registries against their records, both logarithmic."""
    points = [each for each in results.points.values() if each.bare and each.operation in _GROWING]
    if not points:
        return None
    left, right, top, bottom = 90, 640, 90, 420
    sizes = sorted({each.size for each in points})
    seconds = [value for each in points for value in each.seconds]
    least, greatest = (10.0 ** round_(math.log10(of(seconds))) for round_, of in ((math.floor, min), (math.ceil, max)))
    growth = f"how the time grows while the records grow {sizes[-1] / sizes[0]:.3g}-fold"
    said = f"Bare registries, made-up records. Dashed: fan-out 2. At the right: {growth}."
    across = _logarithmic(sizes[0] / 1.2, sizes[-1] * 1.2, left, right)
    up = _logarithmic(least, greatest, bottom, top)
    parts = [
        _text(20, 30, "As registries grow", "title"),
        _text(20, 52, said, "quiet"),
        _text(left - 10, top - 16, "time", "quiet", "end"),
        _text((left + right) / 2, bottom + 44, "records in the registry", "quiet", "middle"),
    ]
    for exponent in range(round(math.log10(least)), round(math.log10(greatest)) + 1):
        y = up(10.0**exponent)
        parts += [_line(left, y, right, y, "grid"), _text(left - 10, y + 4, _tick(exponent), "quiet", "end")]
    for size in sizes:
        parts += [
            _line(across(size), top, across(size), bottom, "grid"),
            _text(across(size), bottom + 20, f"{size:,}", "quiet", "middle"),
        ]
    names = []
    for operation, colour in _GROWING.items():
        for fanout in (2, 1):
            line = sorted(
                (each for each in points if (each.operation, each.fanout) == (operation, fanout)),
                key=lambda each: each.size,
            )
            if line:
                parts.append(_curve(line, across, up, f"{colour}{' other' * (fanout == 2)}"))
                if fanout == 1:
                    names.append((up(_median(line[-1])), f"{operation}: {_times(line)}"))
    heights = _apart([y for y, _ in sorted(names)], 18)
    parts += [_text(right + 14, y + 4, name) for y, (_, name) in zip(heights, sorted(names), strict=True)]
    return bottom + 70, "\n".join(parts)


def _curve(line: Sequence[Point], across: Callable[[float], float], up: Callable[[float], float], kind: str) -> str:
    places = [(across(each.size), up(_median(each))) for each in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places]
    return "\n".join([f'<polyline class="line {kind}" points="{path}"/>', *dots])


def _times(line: Sequence[Point]) -> str:
    """Say how the time of the largest registry relates to that of the smallest."""
    return f"{_median(line[-1]) / _median(line[0]):.3g}-fold"


def _median(point: Point) -> float:
    return Spread.of(point.seconds).median


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Give ends for a scale that all values fit in, with room to both sides."""
    return min(values) / 1.3, max(values) * 1.3


def _logarithmic(least: float, greatest: float, start: float, end: float) -> Callable[[float], float]:
    span = math.log(greatest / least)
    return lambda value: start + (end - start) * min(max(math.log(value / least) / span, 0), 1)


def _apart(heights: Sequence[float], distance: float) -> list[float]:
    """Move sorted heights down until no two are closer than the distance."""
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + distance) if moved else height)
    return moved


def _tick(exponent: int) -> str:
    power, unit = (exponent, "s") if exponent >= 0 else (exponent + 3, "ms") if exponent >= -3 else (exponent + 6, "µs")
    return f"{10.0**power:,.0f} {unit}"


def _shortened(text: str) -> str:
    """Cut what is too long for its column."""
    plain = text.replace("`", "")
    return plain if len(plain) <= 56 else f"{plain[:55]}…"


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    plain = escape(text.replace("`", ""), quote=False)
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{plain}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'
