"""Colours of the charts: told apart by colour-blind people, on white and on black, and never the only sign."""

from __future__ import annotations

#: Owners, in order of their numbers: Okabe and Ito's palette without its red, and Tol's muted one behind it.
OWNERS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"),
    *("#332288", "#44AA99", "#999933", "#AA4499", "#DDCC77", "#6699CC"),
)
#: Bars of incidents; report.css has them too.
SEVERITY = {"ERROR": "#b3121a", "WARN": "#f0c340", "INFO": "#2b6cb0"}
NOBODY = "#D7191C"
UNOBSERVED = "#9A9A9A"
NOT_REPLAYED = "#D0D0D0"
#: What the page's script exchanges for the light or the dark scheme.
INK, GRID, PAPER = "#010101", "#020202", "#030303"


def owner_colour(number: int) -> str:
    """The colour of the connection with that number, from 1; they repeat after twelve."""
    return OWNERS[(number - 1) % len(OWNERS)]


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on the colour."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#FFFFFF"
