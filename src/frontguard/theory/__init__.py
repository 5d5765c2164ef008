"""The paper: threat models, spread bounds, the schedule of R-PSI, and every lemma as a function."""
