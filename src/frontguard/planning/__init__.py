"""What can be had at all, and how many pulls it takes."""
