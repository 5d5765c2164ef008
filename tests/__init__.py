"""Tests of frontguard; docs and tools share their helpers."""

import os

# Idle threads of OpenBLAS spin for a tenth of a second after each product of matrices, and keep other workers from the
# processor. numpy reads this when it is imported, here and in children.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
