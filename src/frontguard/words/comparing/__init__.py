"""Arms beside each other, in words: effect sizes, gates, one arm to pick, what to take instead, pairs."""
