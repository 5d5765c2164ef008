"""frontguard: the trade-off (Pareto) set among noisy candidates when part of the measurements lie.

Every day: `analyze` a log, `gate` it against a baseline, `identify` by measuring, or run a `Study`: each gives an
`Answer`. `plan` says what it takes. What is asked are `Objective`s and `Limit`s, together a `Question`. `write_report`
and `plot` show answers.

- Who may replace measurements: `Prescient`, `Oblivious`, `Malicious`, `Share`, `EvenHanded`, all of them a `Threat`.
- A study's `Measurement`s; `BadInput`, which every mistake of the caller's is.
- For research: the policies `Certified`, `RPSI`, `AuerA1`, `AuerA1M`, spreads (`Gaussian`, `Subgaussian`), `simulate`.

Names are imported on first use, so that `import frontguard` stays fast; `__init__.pyi` lists them with their places.
"""

__version__ = "0.1.0"


def __getattr__(name):
    """Import a name. The list of names is read now: until the command's first line runs, Ctrl-C is a traceback."""
    import lazy_loader

    here = globals()
    here["__getattr__"], here["__dir__"], names = lazy_loader.attach_stub(__name__, __file__)
    here["__all__"] = [*names, "__version__"]
    return here[name] if name in here else here["__getattr__"](name)


def __dir__():
    return __getattr__("__all__")


ATTACHED = {
    "certificate": "frontguard.words.certificate:sentence",  # str(certificate)
    "explanation": "frontguard.words.certificate:explanation",  # result.explain(arm)
    "comparison": "frontguard.words.comparisons:comparison_in_words",  # str(result.compare(arm, baseline))
    "pick": "frontguard.words.comparisons:pick_in_words",  # str(result.pick("knee"))
    "answer": "frontguard.words.answers:whole",  # str(answer)
    "plot": "frontguard.plot.fronts:front",  # result.plot()
    "frame": "frontguard.logs.sources.typed:same_kind",  # answer.to_frame()
    "report": "frontguard.reports.write:write_report",  # result.report(path), study.report(path)
    "notebook": "frontguard.reports.html:result_html",  # a result in a notebook
    "comparisons in a notebook": "frontguard.reports.html:comparisons_html",
    "pick in a notebook": "frontguard.reports.html:pick_html",
}
"""What lower packages offer as methods and higher ones do, by their places: see `_common.attached`."""
