"""Arms that are commands: what `frontguard run` pulls, as a TOML file describes it.

It may know studies, how they are measured, and the words for them; it knows nothing of reports, pages and the command
line. Where to start:

- `spec`: what to compare and how, checked; `candidates`: its arms, listed or of a grid, and placeholders in their
  commands; `format`: the TOML it is read from, with the line of every mistake, and the same without its secrets.
- `metrics`: values out of what a command printed, by patterns that are looked for where they can be stopped.
- `arm`: one arm, prepared once and pulled often; `process`: one command as a process group, ended whole; the folder
  that a run has; and what killed runs left of both.
- `run`: a study of commands from its beginning to its end, and how it is shown meanwhile.
- `_launcher`, `_matcher`: scripts of their own, which start commands whose memory counts, and look for patterns.
"""
