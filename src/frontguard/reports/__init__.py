"""Reports to send: one HTML file, Markdown or CSV, of studies, analyses, experiments, the demonstration and their JSON.

- `write`: `write_report(thing, path)`, which does it all, whole or not at all.
- `report`: a report as data, and one out of a result; `of_results`, `of_experiments`: one of each kind of thing.
- `html` (with results for notebooks), `plain` (Markdown, CSV, a gate as CI reads it): formats.
"""
