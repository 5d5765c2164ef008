"""frontguard: the trade-off (Pareto) set among noisy candidates when part of the measurements lie.

Every day: `analyze` a log, `gate` it against a baseline, `identify` by measuring, or run a `Study`: each gives an
`Answer`. `plan` says what it takes. What is asked are `Objective`s and `Limit`s, together a `Question`. `write_report`
and `plot` show answers.

- Who may replace measurements: `Prescient`, `Oblivious`, `Malicious`, `Share`, `EvenHanded`, all of them a `Threat`.
- A study's `Measurement`s; `BadInput`, which every mistake of the caller's is.
- For research: the policies `Certified`, `RPSI`, `AuerA1`, `AuerA1M`, spreads (`Gaussian`, `Subgaussian`), `simulate`.

Names are imported on first use, so that `import frontguard` stays fast; `__init__.pyi` lists them with their places.
"""

import lazy_loader

from frontguard._common.attached import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]

# What lower packages offer as methods and higher ones do: see `_common.attached`.
attach("certificate", "frontguard.words.certificate:sentence")  # str(certificate)
attach("explanation", "frontguard.words.certificate:explanation")  # result.explain(arm)
attach("comparison", "frontguard.words.comparisons:comparison_in_words")  # str(result.compare(arm, baseline))
attach("pick", "frontguard.words.comparisons:pick_in_words")  # str(result.pick("knee"))
attach("answer", "frontguard.words.answers:whole")  # str(answer)
attach("plot", "frontguard.plot.fronts:front")  # result.plot()
attach("frame", "frontguard.logs.sources.typed:same_kind")  # answer.to_frame()
attach("report", "frontguard.reports.write:write_report")  # result.report(path), study.report(path)
attach("notebook", "frontguard.reports.html:result_html")  # a result in a notebook
attach("comparisons in a notebook", "frontguard.reports.html:comparisons_html")
attach("pick in a notebook", "frontguard.reports.html:pick_html")
