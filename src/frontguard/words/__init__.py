"""Facts put into words: the one package in which records and numbers become sentences, tables and progress.

- `answers`: an answer as it is printed, its sentence, what to do next; `gate`, `plan`: the sentences of each.
- `certificate`: what is guaranteed, what that assumes, how near the goal is, why an arm has its verdict.
- `asked`: against whom something is promised, what counts of metrics, limits.
- `arm_table`: the table of arms as data, and on a terminal, however narrow; `terminal`: other tables, and progress.
- `comparisons`: arms beside each other: how they compare, which one to pick, what to take instead.
"""
