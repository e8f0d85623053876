"""Cases of other people, and what must be said about them."""
