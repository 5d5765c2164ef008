"""From intervals to verdicts: dominance, and the one decision rule."""
