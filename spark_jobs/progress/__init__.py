"""What the offsets say: how much lay in a queue, came in and went out."""
