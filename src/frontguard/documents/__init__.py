"""What commands print with `--json`, as pydantic models: written by the commands, read back by reports.

A document says which entries there are, in which order, and what each may hold. The published schemas
(`docs/schemas`, made by `python -m tools.schemas`) come from here, and so does the one line in which JSON that is not
ours is refused. May know everything that is printed (results, logs, experiments, the demonstration), and nothing that
prints or shows. Where to start:

- `base`: the kinds of values, `Document`, and `read`, which checks JSON.
- `result`: a result and a run of a study, there and back.
- `analysis`: an analysis of a log, there and back; `pieces` prints it, for there may be a million arms,
  and has `Origin`, how something was made.
- `demo`, `reproduce`, `plan`: those commands.
- `done`: what `report`, `rescue` and `serve` say of what they did.

A new command with `--json` gets a model here and a line in `tools/schemas.py`.
"""
