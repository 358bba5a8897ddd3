"""What every picture must keep to, measured on the boxes of what was drawn."""

from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

SLACK = 1.0  # pixels


def no_overlaps(figure: Figure) -> None:
    """No text leaves the figure, lies on another text or on the inside of axes; no legend lies on axes."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()  # which places all texts
    renderer, sheet = canvas.get_renderer(), figure.bbox
    texts = [t for t in (*_of_figure(figure), *(t for a in figure.axes for t in _of_axes(a))) if t.get_visible()]
    boxes = [(t.get_text(), _smaller(t.get_window_extent(renderer))) for t in texts if t.get_text().strip()]
    for text, box in boxes:
        assert sheet.x0 <= box.x0, f"leaves the figure: {text!r} {box} {sheet}"
        assert box.x1 <= sheet.x1, f"leaves the figure: {text!r} {box} {sheet}"
        assert sheet.y0 <= box.y0, f"leaves the figure: {text!r} {box} {sheet}"
        assert box.y1 <= sheet.y1, f"leaves the figure: {text!r} {box} {sheet}"
    for (one, a), (other, b) in combinations(boxes, 2):
        assert not a.overlaps(b), f"{one!r} lies on {other!r}: {a} {b}"
    for axes in figure.axes:
        inside = _smaller(axes.get_window_extent(renderer))
        assert min(inside.width, inside.height) > 60, f"no room is left for {axes.get_title()!r}: {inside}"
        names = {t for t in axes.texts if isinstance(t, Annotation) and t.anncoords == "offset points"}  # of points
        for text, box in zip([t for t in texts if t.get_text().strip()], [box for _, box in boxes], strict=True):
            points = [axes.transData.transform(line.get_xydata()) for line in axes.lines] if text in names else []
            hit = any(box.contains(*at) for each in points for at in each)
            on = hit if text in names else inside.overlaps(box)
            assert not on, f"{text.get_text()!r} lies on the curves of {axes.get_title()!r}"
        for legend in figure.legends:
            assert not inside.overlaps(_smaller(legend.get_window_extent(renderer))), "the legend lies on curves"


def caption_of(figure: Figure) -> str:
    """The caption of a figure, which is the title of its legend where it has one."""
    return " ".join([*(legend.get_title().get_text() for legend in figure.legends), figure.get_supxlabel()])


def _of_figure(figure: Figure):
    for text in (figure._suptitle, figure._supxlabel, figure._supylabel):
        if text is not None:
            yield text
    for legend in figure.legends:
        yield from (legend.get_title(), *legend.get_texts())


def _of_axes(axes: Axes):
    yield from (axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label, *axes.texts)
    for axis in (axes.xaxis, axes.yaxis):
        yield axis.get_offset_text()
        for tick in axis._update_ticks():  # those that are drawn
            yield from (tick.label1, tick.label2)
    if axes.get_legend() is not None:
        yield from axes.get_legend().get_texts()


def _smaller(box: Bbox) -> Bbox:
    return Bbox.from_extents(box.x0 + SLACK, box.y0 + SLACK, box.x1 - SLACK, box.y1 - SLACK)
