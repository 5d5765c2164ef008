"""What can be had at all, and what it costs: said before anything is measured.

May know: policies, simulation, pareto, evidence, theory, objectives.

Read in this order:

- `reach`: what no number of pulls can change, from quantiles alone;
- `cost`: how many pulls an identification takes, from simulated runs; `make_plan` puts both together.
"""
