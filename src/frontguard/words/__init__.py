"""Facts put into words: the one package in which records and numbers become sentences, tables and progress.

It may know everything that holds facts (results, notices, studies, logs, plans); terminal, reports and the live page
take their words from here, and nothing reads words back. Where to start:

- `threats`: against whom something is promised.
- `certificate`: what is guaranteed, what that assumes, how near the goal is, why an arm has its verdict.
- `front`, `study`, `analysis`, `plan`: the answers in a sentence, and what to do next.
- `arm_table`: the table of arms as data; `arm_sheet`: on a terminal, however narrow; `terminal`: other tables there.
- `comparisons`, `gate`, `instead`: arms beside each other: how they compare, which one to pick, what to take instead.
- `progress`: how far it is, for whoever waits.
"""
