"""Draws a value over time, with a line for its target. Pure."""

from collections.abc import Sequence

from console.drawing.svg import element, label, picture

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560.0, 96.0, 52.0, 16.0

Point = tuple[float, float]
"""Epoch seconds and a value."""


def curve(
    title: str,
    points: Sequence[Point],
    span: tuple[float, float],
    target: float | None,
    times: tuple[str, str],
    words: tuple[str, str],
) -> str:
    """The picture of `points`, sorted by time. `span` has the first and the last time, and `times`
    their labels. `words` are the labels of the highest value and of the target."""
    top = max([value for _, value in points] + [target or 0.0, 1.0]) * 1.08
    start, end = span
    right, base = _WIDTH - 4, _HEIGHT - _BOTTOM

    def x(time: float) -> float:
        return _LEFT + (right - _LEFT) * (time - start) / max(end - start, 1e-9)

    def y(value: float) -> float:
        return base - (base - 6) * value / top

    parts = [element("path", class_="frame", d=f"M{_LEFT} 6V{base}H{right}")]
    if points:
        line = "L".join(f"{x(time):.1f} {y(value):.1f}" for time, value in points)
        first, last = x(points[0][0]), x(points[-1][0])
        area = f"M{first:.1f} {base}L{line}L{last:.1f} {base}z"
        parts.append(element("path", class_="area", d=area))
        parts.append(element("path", class_="line", d=f"M{line}"))
    highest = max((value for _, value in points), default=0.0)
    parts.append(label(_LEFT - 6, y(highest) + 4, words[0], class_="axis", text_anchor="end"))
    if target is not None:
        level = y(target)
        parts.append(element("path", class_="target", d=f"M{_LEFT} {level:.1f}H{right}"))
        if abs(level - y(highest)) > 11:
            parts.append(label(_LEFT - 6, level + 4, words[1], class_="axis", text_anchor="end"))
    parts.append(label(_LEFT, _HEIGHT - 3, times[0], class_="axis"))
    parts.append(label(right, _HEIGHT - 3, times[1], class_="axis", text_anchor="end"))
    at_most = "" if target is None else f", the target is {words[1]}"
    return picture(
        _WIDTH, _HEIGHT, title, f"The highest value is {words[0]}{at_most}.", parts, class_="curve"
    )
