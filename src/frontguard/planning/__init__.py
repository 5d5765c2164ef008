"""The plan of a measurement, before anything is measured: what can be had at all, and what it costs.

Read in this order:

- `task`: a question, and the arms that are assumed: those of a pilot log, or random ones;
- `reach`: what no number of pulls can change, from quantiles alone;
- `cost`: how many pulls an identification takes, from simulated runs; `make_plan` puts both together;
- `sizes`: how many sessions, questions or answers a comparison takes.
"""
