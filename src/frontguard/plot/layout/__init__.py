"""What all pencils share: frames, scales, places for words."""
