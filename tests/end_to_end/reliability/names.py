"""Names as nobody should choose them: RocketMQ takes most of them, and what reads them shows text, and does nothing."""

from typing import Final

FORMULAS: Final = ("=1+1", "+cmd|' /C calc'!A0", "@SUM(1+1)", "-2+3", '=HYPERLINK("http://x","y")')
PATHS: Final = (
    *("../../etc/passwd", "/etc/passwd", "C:\\Windows\\..", "a/b", ".", "..", "~", "CON", "file:///etc/passwd"),
)
SQL: Final = (
    *("'; DROP TABLE findings; --", '" OR 1=1 --', "`x`", "%' OR '1'='1", "_%", "x' UNION SELECT 1 --", "\\' OR 1"),
)
MARKUP: Final = (
    "<script>document.title='owned'</script>",
    "\"'><img src=x onerror=\"document.title='owned'\">",
    "</textarea></style></script><b>",
    "<!--",
    "]]>",
    "javascript:document.title='owned'",
    "&lt;b&gt;&#x3c;",
)
TEMPLATES: Final = ("{{7*7}}", "${jndi:ldap://x/a}", "$says", "%s%n", "{0}", "#{1}", "[red]x[/red]", ":bomb:", "$ref")
INVISIBLE: Final = (
    *("\u202egnp.exe", "\u2066x\u2069", "\u200f", "\u061c", "\ufeff", "\u200b", "\u2028", "\u2029", "\u00ad"),
    *(" ", "  x  "),
    *("a\u0301" * 100, "\U000e0041", "\ufdd0", "\uffff"),
)
STEERING: Final = (
    *("\x00", "a\x00b", "\x1b[2J\x1b[31m", "\x1b]0;owned\x07", "\x9b31m", "\x7f", "\x85", "\x08\x08\x08"),
    *("\r\nX-Owned: y", "\n", "\t", "\r"),
)
MISLEADING: Final = (
    *("null", "NULL", "nan", "true", "0", "-1", '"', "\\", "\\u0000", "*", "%RETRY%x", "__HIVE_DEFAULT_PARTITION__"),
    *("cluster=x group=y", "\U0001f600" * 255, "é" * 255, "x" * 255),
)
NAMES: Final = (*FORMULAS, *PATHS, *SQL, *MARKUP, *TEMPLATES, *INVISIBLE, *STEERING, *MISLEADING)

#: What Java's strings may hold and UTF-8 cannot.
SURROGATES: Final = ("\ud800", "\udfff", "a\udc00b", "\udc00\ud800")
