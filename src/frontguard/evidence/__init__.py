"""From measurements to intervals: growing samples, boundaries of Bernoulli sums, boxes that hold at every time."""
