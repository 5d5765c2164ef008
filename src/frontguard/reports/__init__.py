"""Reports to send: one HTML file, Markdown or CSV, of studies, analyses, experiments, the demonstration and their JSON.

A report is data first: an answer, figures, tables and sentences, in the order in which they are read. Where to start:

- `write`: `write_report(thing, path)`, which does it all, whole or not at all.
- `report`: `Report`, and one out of a result, with its table of arms, comparisons and picks.
- `of_results`, `of_experiments`: what is said of each kind of thing.
- `html` (with results for notebooks), `plain` (Markdown, CSV, a gate as CI reads it): formats.

A new format is a module with a function from `Report` to text, an ending and a line in `write`.
"""
