"""The loop that measures: asks a study, submits to workers, tells."""
