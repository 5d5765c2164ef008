"""Every picture of `frontguard.plot` by every renderer: our own SVG, matplotlib for paper, plotly for the screen."""

from __future__ import annotations

import io
from collections.abc import Callable

from frontguard import plot
from frontguard.plot.picture import Picture
from frontguard.studies.follow import Follower, Overview
from frontguard.studies.study import Study
from gallery import studies
from gallery.shots import SHOTS, Shot, Studio

# What they show -------------------------------------------------------------------------------------------------------


def _machines(studio: Studio, objectives: int = 2, pulls: int | None = None) -> Study:
    made: Study = studio.once(
        f"machines {objectives} {pulls}", lambda: studies.machines(objectives=objectives, pulls=pulls)
    )
    return made


def _followed(studio: Studio, study: Study) -> tuple[Follower, Overview]:
    def make() -> tuple[Follower, Overview]:
        follower = Follower(study.storage, study.name)
        return follower, follower.catch_up()

    found: tuple[Follower, Overview] = studio.once(f"followed {id(study)}", make)
    return found


def _front(studio: Studio) -> Picture:
    return plot.front(_machines(studio).result())


def _front_early(studio: Studio) -> Picture:
    return plot.front(_machines(studio, pulls=330).result())


def _front_analysis(studio: Studio) -> Picture:
    from frontguard.demo.cases import analyze_flags

    return plot.front(studio.once("flags", analyze_flags))


def _front_one(studio: Studio) -> Picture:
    return plot.front(_machines(studio, 1).result())


def _front_many(studio: Studio) -> Picture:
    return plot.front(studio.once("many", studies.many).result())


def _pairs(studio: Studio) -> Picture:
    return plot.pairs(_machines(studio, 3).result())


def _parallel(studio: Studio) -> Picture:
    return plot.parallel(_machines(studio, 3).result())


def _parallel_many(studio: Studio) -> Picture:
    return plot.parallel(studio.once("many", studies.many).result())


def _pulls(studio: Studio) -> Picture:
    return plot.pulls(_machines(studio).result())


def _pulls_many(studio: Studio) -> Picture:
    return plot.pulls(studio.once("many", studies.many).result())


def _robustness(studio: Studio) -> Picture:
    from frontguard.demo.cases import analyze_flags

    return plot.robustness(studio.once("flags", analyze_flags))


def _forest(studio: Studio) -> Picture:
    from frontguard.demo.cases import analyze_flags

    return plot.forest(studio.once("flags", analyze_flags), "-O1")


def _shrinking(studio: Studio) -> Picture:
    return plot.shrinking(_followed(studio, _machines(studio))[1].history)


def _certainty(studio: Studio) -> Picture:
    overview = _followed(studio, _machines(studio, pulls=500))[1]
    return plot.certainty(overview.history, overview.answer.state.pulls_left)


def _rate(studio: Studio) -> Picture:
    return plot.rate(_followed(studio, _machines(studio))[1].rate)


def _measurements(studio: Studio) -> Picture:
    follower, overview = _followed(studio, _machines(studio))
    arm = overview.answer.arms.index("metal old")
    return plot.measurements(follower.measurements(arm), overview.history, contamination=0.05)


def _sample_complexity(studio: Studio) -> Picture:
    rows = studio.once("rows", lambda: studies.experiment_rows(studio.folder))
    return plot.sample_complexity(rows)


def _demo(studio: Studio) -> Picture:
    from frontguard.demo.cases import Demo, run_demo
    from frontguard.demo.pictures import demo_picture

    demo: Demo = studio.once("demo", run_demo)
    return demo_picture(demo)


def _reviews(studio: Studio) -> Picture:
    from frontguard.demo.cases import Demo, run_demo
    from frontguard.demo.pictures import reviews_picture

    demo: Demo = studio.once("demo", run_demo)
    return reviews_picture(demo.reviews)


PICTURES: tuple[tuple[str, str, Callable[[Studio], Picture]], ...] = (
    (
        "front",
        "The short list of a study that is certified: machines by cost and latency. Boxes hold the true medians; what "
        "is shaded is beaten by the list.",
        _front,
    ),
    (
        "front-early",
        "The same study after 330 pulls: boxes are larger, and about half of the arms undecided.",
        _front_early,
    ),
    (
        "front-analysis",
        "An analysis of a log: compiler flags measured beside a noisy neighbour.",
        _front_analysis,
    ),
    ("front-one-objective", "With one objective, the intervals of the arms as a list.", _front_one),
    ("front-1000-arms", "A thousand arms: the front in full, the rest as a density.", _front_many),
    ("pairs", "Three objectives, each pair of them.", _pairs),
    ("parallel", "Three objectives side by side; better is always up.", _parallel),
    ("parallel-1000-arms", "A thousand arms side by side: the front in full, the rest as a band.", _parallel_many),
    ("pulls", "Pulls of each arm: easy cases are done early.", _pulls),
    ("pulls-1000-arms", "Pulls of a thousand arms: those that were pulled most.", _pulls_many),
    (
        "forest",
        "Compiler flags against -O1: how many times the time and the bytes each takes. All lines hold at once; within "
        "the shaded band a difference does not matter.",
        _forest,
    ),
    ("robustness", "What share of lies each verdict on the compiler flags would stand up to.", _robustness),
    ("shrinking", "Boxes shrinking over the pulls of a study.", _shrinking),
    ("certainty", "What is certain against the goal while a study runs, with the forecast.", _certainty),
    ("rate", "Pulls a minute, and how many of them failed.", _rate),
    (
        "measurements",
        "Raw values of one arm: suspected contamination is marked, failed pulls stand at the edge.",
        _measurements,
    ),
    (
        "sample-complexity",
        "MovieLens, 20 runs of each policy: samples and success beside the paper's.",
        _sample_complexity,
    ),
    ("demo", "The demonstration: treatments, a fifth of the records of the best ones sabotaged.", _demo),
    ("demo-reviews", "The second part of the demonstration: film reviews with a bombing campaign.", _reviews),
)


# By whom they are drawn -----------------------------------------------------------------------------------------------


def _of(studio: Studio, make: Callable[[Studio], Picture]) -> Picture:
    picture: Picture = studio.once(f"picture {make.__name__}", lambda: make(studio))
    return picture


def _as_svg(make: Callable[[Studio], Picture], *, dark: bool = False, width: int = 0) -> Callable[[Studio], bytes]:
    def take(studio: Studio) -> bytes:
        picture = _of(studio, make)
        path = studio.folder / "picture.html"
        wide = width or round(96 * picture.width)
        colours = "background:#111;color:#eee" if dark else "background:#fff;color:#111"
        path.write_text(
            f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,><body style='margin:8px;{colours}'>"
            + picture.svg().markup(),
            "utf-8",
        )
        opened = studio.page((wide + 16, 300), dark=dark)
        opened.page.goto(path.as_uri())
        right, bottom = opened.page.evaluate(
            "(box => [box.right, box.bottom])(document.querySelector('svg').getBoundingClientRect())"
        )
        opened.page.set_viewport_size({"width": round(right) + 8, "height": round(bottom) + 8})
        return studio.photograph(opened)

    return take


def _on_paper(make: Callable[[Studio], Picture]) -> Callable[[Studio], bytes]:
    def take(studio: Studio) -> bytes:
        drawn = io.BytesIO()
        _of(studio, make).matplotlib().savefig(drawn, format="png", dpi=96)
        return drawn.getvalue()

    return take


def _on_screen(make: Callable[[Studio], Picture]) -> Callable[[Studio], bytes]:
    def take(studio: Studio) -> bytes:
        picture = _of(studio, make)
        path = picture.save(studio.folder / "picture.html")
        opened = studio.page((round(96 * picture.width) + 16, round(96 * picture.height) + 16))
        opened.page.goto(path.as_uri())
        opened.page.wait_for_selector(".main-svg")
        opened.page.wait_for_timeout(200)  # plotly lays out once more when its fonts are there
        return studio.photograph(opened, full=True)

    return take


SHOTS.extend(Shot(name, "Pictures", caption, _as_svg(make)) for name, caption, make in PICTURES)
SHOTS += [
    Shot("front-dark", "Pictures", "A picture takes the colours of its page.", _as_svg(_front, dark=True)),
    Shot("front-phone", "Pictures", "The front on a telephone.", _as_svg(_front, width=364)),
]
SHOTS.extend(
    Shot(f"{name}-paper", "On paper (matplotlib)", caption, _on_paper(make)) for name, caption, make in PICTURES
)
SHOTS.extend(
    Shot(f"{name}-screen", "On the screen (plotly)", caption, _on_screen(make)) for name, caption, make in PICTURES
)
