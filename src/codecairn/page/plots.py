"""Small drawings: the signals of a rank as bars, the last hour as lines. Colours come from the style sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

from codecairn.journal import CallMinute

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 560, 156, 50, 22, 14
_BAR = 240
_TICK = Markup('<text class="tick" text-anchor="{}" x="{:.0f}" y="{:.1f}">{}</text>')
_DOT = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="2.2"/>')


def bars(value: float, most: float) -> Markup:
    """A bar as long as a value's share of the most; what was taken has another colour."""
    share = min(1.0, abs(value) / most) if most else 0.0
    width = share * _BAR
    look = "bar" if value >= 0 else "bar taken"
    return Markup(
        '<svg class="bars" width="{0}" height="10" viewBox="0 0 {0} 10" aria-hidden="true">'
        '<rect class="rail" width="{0}" height="10" rx="2"/>'
        '<rect class="{1}" width="{2:.1f}" height="10" rx="2"/>'
        "</svg>"
    ).format(_BAR, look, width)


def plot(minutes: Sequence[CallMinute], middle: str, high: str, now: float, unit: str) -> Markup:
    """Two values of every minute of the last hour, a line each, from their names in `CallMinute`."""
    most = _ceiling(max((getattr(each, high) for each in minutes), default=0.0))
    first = int(now // 60) - 59

    def x(at: float) -> float:
        return _LEFT + (at - first) / 59 * (_WIDTH - _LEFT - 8)

    def y(value: float) -> float:
        return _TOP + (1 - value / most) * (_HEIGHT - _BOTTOM - _TOP)

    grid = Markup("").join(_rule(y(most * share), most * share) for share in (0, 0.5, 1))
    lines = Markup("").join(
        _line([(x(each.at), y(getattr(each, name))) for each in minutes], look)
        for name, look in ((high, "high"), (middle, "middle"))
    )
    dial = Markup("").join(
        Markup('<text class="tick" text-anchor="{}" x="{:.0f}" y="{}">{}</text>').format(
            anchor, x(first + at), _HEIGHT - 6, said
        )
        for at, said, anchor in ((0, "1 h ago", "start"), (29.5, "30 min", "middle"), (59, "now", "end"))
    )
    return Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}</svg>').format(
        _WIDTH, _HEIGHT, _label(minutes, middle, high, unit), grid, dial, lines
    )


def _ceiling(value: float) -> float:
    """The next round number that is not below a value."""
    if value <= 0:
        return 1.0
    power = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 1.0
    return next(power * step for step in (1, 2, 5, 10) if power * step >= value)


def _rule(y: float, value: float) -> Markup:
    said = f"{value / 1000:g} k" if value >= 1_000 else f"{value:g}"
    return Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
        _LEFT, _WIDTH - 8, y, y
    ) + _TICK.format("end", _LEFT - 6, y + 3.5, said)


def _line(points: list[tuple[float, float]], look: str) -> Markup:
    if not points:
        return Markup("")
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = Markup("").join(
        Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="2.2"/>').format(look, *at) for at in points
    )
    return Markup('<polyline class="{}" points="{}"/>{}').format(look, path, dots)


def _label(minutes: Sequence[CallMinute], middle: str, high: str, unit: str) -> str:
    if not minutes:
        return "No calls in the last hour"
    value: Callable[[str], float] = lambda name: max(getattr(each, name) for each in minutes)  # noqa: E731
    said = f"{sum(each.calls for each in minutes)} calls in the last hour; highest median {value(middle):g} {unit}"
    return str(escape(f"{said}, highest 95th percentile {value(high):g} {unit}"))
