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
#: What the page's script exchanges for the colours of the light or the dark scheme. GRID is for what may be overlooked.
INK, GRID, PAPER, DIM = "#010101", "#020202", "#030303", "#010102"
LINES = ("#010103", "#010104", "#010105", "#010106", "#010107", "#010108")
_SCHEMED = (INK, GRID, PAPER, DIM, *LINES)
_LIGHT = ("#1b1b1b", "#d5d5d5", "#ffffff", "#5a5a5a", "#0072b2", "#9a6200", "#00785a", "#a8487f", "#332288", "#6b6b2a")
_DARK = ("#ececec", "#4a4f57", "#16181c", "#a9a9a9", "#56b4e9", "#e69f00", "#2bc494", "#cc79a7", "#b79cf0", "#f0e442")
#: By scheme: the colours in the place of those above. All but GRID stand out from PAPER: 4.5 : 1 or more.
SCHEMES = {"light": dict(zip(_SCHEMED, _LIGHT, strict=True)), "dark": dict(zip(_SCHEMED, _DARK, strict=True))}


def owner_colour(number: int) -> str:
    """The colour of the connection with that number, from 1; they repeat after twelve."""
    return OWNERS[(number - 1) % len(OWNERS)]


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on the colour."""
    return max("#000000", "#FFFFFF", key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """Of two colours, 1 to 21, as WCAG 2 counts it; 4.5 is enough to read small text."""
    darker, lighter = sorted(map(_luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
