"""Arms that are commands: what `frontguard run` pulls, as a TOML file describes it.

- `spec`: what to compare and how, checked; `format`: the TOML it is read from, with the line of every mistake.
- `arm`: one arm, prepared once and pulled often, and values out of what a command printed.
- `process`: one command as a process group, ended whole; patterns; and what killed runs left behind.
- `run`: a study of commands from its beginning to its end, and how it is shown meanwhile.
- `_launcher`, `_matcher`: scripts of their own, which start commands whose memory counts, and look for patterns.
"""
