"""The paper: pure functions and frozen records; no files, no randomness.

Read in this order:

- `threats`: what an attacker may do, and what survives it; each threat model owns its constants;
- `spread`: R, how far rewards spread around their median;
- `schedule`: the phases of R-PSI: pulls, widths and the bias that cannot be avoided;
- `bounds`: every lemma and theorem as a function.
"""
