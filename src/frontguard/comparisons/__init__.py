"""How arms compare by their boxes: how much better one is than another, which one to take, what a front is worth."""
