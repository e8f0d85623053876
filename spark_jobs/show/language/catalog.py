"""The catalog of a language: templates of English, and what stands for them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

#: In a template: a value, a value of a name, and a choice of forms, which a translation does not need.
_FIELD = re.compile(r"\{(?:(?P<name>\w*)(?P<form>:[^{}|]*)?|(?P<choice>(?:\w+:)?[^{}]*\|[^{}]*))\}")
_SENTENCE_END = r"(?<=[^.][.?!])\s+(?=\S)"
#: Patterns of values: within a sentence and a part of it; within a sentence; a number with its unit; any text.
_PART, _CLAUSE = rf"(?:(?!{_SENTENCE_END}|: |; | \().)*?", rf"(?:(?!{_SENTENCE_END}).)*?"
_NUMBER, _ANY = r"[≥≤~]? ?[+-]?\d(?:(?!, ).)*?", ".*"
#: A name, a number, a time; or the queues of a topic. Never translated.
_NAME = re.compile(
    r"(?!(?:unknown|and|or|by|of|to|in|all|up|most|no|the|with|at|never|none)$)\S*(?: [\w.@-]+:\d[\d,-]*)*"
    r"|[≥≤~]? ?[\d,.]+(?: %)?|\d+ [A-Z]+|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?"
)
_AMOUNT = re.compile(r"([≥≤~]? ?[+-]?\d[\d,.]*) ([a-zA-Z][\w /-]*?)(s?)")
_SPAN = re.compile(r"\d[\d,.]* [a-z]+(?: \d\d [a-z]+)?")
_IN_BRACKETS = re.compile(r"(.+) \(([^()]*(?:\([^()]*\)[^()]*)*)\)")
#: Signs between parts of a text, the widest first, and what stands for them.
_SIGNS = ((r"; ", "；"), (r": ", "："), (r",? and ", " 和 "), (r", ", "，"))
_ENDS = {".": "。", ":": "：", "?": "？"}
_WIDE = "[⺀-鿿！-｠]"
#: No space between wide characters, one between a word of theirs and another.
_SPACES = (
    (rf"(?<={_WIDE}) (?={_WIDE})|(?<=[，。；：？！、）（]) | (?=（)", ""),
    (r"(?<=[一-鿿])(?=[A-Za-z0-9%`])|(?<=[A-Za-z0-9%`])(?=[一-鿿])", " "),
)


class _Template(NamedTuple):
    """A template of English, and its translation. `within`, `loose`: its patterns, with values inside of a part of a
    sentence, and of a whole one; `open`: the value that may be any text; empty: none.
    """

    longest: str
    letters: int
    within: str
    loose: str
    translation: str
    open: str

    def values(self, text: str, *, loose: bool) -> Mapping[str, str] | None:
        """The values in the text, by the name that the translation has for them."""
        match = _compiled(self.loose if loose else self.within).fullmatch(text)
        return match and {name.removeprefix("_"): value for name, value in match.groupdict().items()}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _template(english: str, translation: str) -> _Template:
    literals = _FIELD.sub("\0", english).split("\0")
    fields = [field.groupdict() for field in _FIELD.finditer(english)]
    names = [_name(place, fields) for place in range(len(fields))]
    *_, before, after = ("", *literals)
    is_open = bool(fields) and names[-1] and before.endswith((". ", ": ", "? ")) and not after
    opened = names[-1] if is_open else ""
    within, loose = (
        re.escape(literals[0])
        + "".join(
            _pattern(field, name, _ANY if name == opened and name else value, name in names[:place])
            + re.escape(literal)
            for place, (field, name, literal) in enumerate(zip(fields, names, literals[1:], strict=True))
        )
        for value in (_PART, _CLAUSE)
    )
    return _Template(max(literals, key=len).lower(), sum(map(len, literals)), within, loose, translation, opened)


def _name(place: int, fields: Sequence[Mapping[str, str | None]]) -> str:
    """The name of a field, or its number among those without one; empty for a choice."""
    if fields[place]["choice"] is not None:
        return ""
    return fields[place]["name"] or str(sum(not (each["name"] or each["choice"]) for each in fields[:place]))


def _pattern(field: Mapping[str, str | None], name: str, value: str, is_repeated: bool) -> str:
    if choice := field["choice"]:
        forms = re.sub("^[a-z]+:", "", choice).split("|")
        return f"(?:{'|'.join(map(re.escape, forms))})"
    return f"(?P=_{name})" if is_repeated else f"(?P<_{name}>{_NUMBER if field['form'] else value})"


class Catalog:
    """The translations of one language: `words` are fixed, `nouns` and `units` follow numbers."""

    def __init__(self, tables: Mapping[str, Mapping[str, str]]) -> None:
        """The tables of a file: `words`, `nouns`, `units`, and any others, of templates."""
        self.words, self._nouns, self._units = (tables.get(name, {}) for name in _WORD_TABLES)
        pairs = [pair for name, table in tables.items() if name not in _WORD_TABLES for pair in table.items()]
        self._exact = {each: shown for each, shown in self.words.items() if not _NAME.fullmatch(each)} | dict(pairs)
        self._templates = sorted((_template(*pair) for pair in pairs), key=lambda template: -template.letters)
        self.text = lru_cache(maxsize=10_000)(self._text)
        self._whole = lru_cache(maxsize=10_000)(self._phrase)

    def _text(self, text: str) -> str:
        """Each part between line ends and wide gaps, which keeps its column."""
        parts = re.split(r"(\n|^ +| {2,})", text)
        if len(parts) == 1:
            return self._whole(text) or self._sentences(text) or self._in_part(text)
        shown, width = "", 0
        for place, part in enumerate(parts):
            width += width_of(part)
            if place % 2 == 0:
                shown += self.words.get(part) or self.text(part)
            elif part == "\n" or not shown:
                shown += part
            else:
                shown += " " * max(2, width - width_of(shown))
        return shown

    def _phrase(self, text: str) -> str | None:
        """One phrase or sentence; None if it is not known."""
        if (exact := self._exact.get(text)) is not None:
            return exact
        if _SPAN.fullmatch(text) and {*re.findall("[a-z]+", text)} <= self._units.keys():
            return re.sub("[a-z]+", lambda unit: self._units[unit[0]], text)
        if (amount := _AMOUNT.fullmatch(text)) and (noun := self._noun(amount[2], amount[3])):
            return f"{amount[1]} {noun}"
        return (
            self._by_template(text, loose=False)
            or self._in_brackets(text)
            or self._ended(text)
            or self._listed(text)
            or self._by_template(text, loose=True)
        )

    def _noun(self, noun: str, plural: str) -> str | None:
        return self._nouns.get(noun + plural) or self._nouns.get(noun)

    def _by_template(self, text: str, *, loose: bool) -> str | None:
        folded = text.lower()
        for template in self._templates:
            values = template.values(text, loose=loose) if template.longest in folded else None
            if values is not None and (filled := self._filled(template, values)) is not None:
                return filled
        return None

    def _filled(self, template: _Template, values: Mapping[str, str]) -> str | None:
        """The translation with its values, which may be phrases, lists or sentences; None if one is not known."""
        known = {name: self._known(value) for name, value in values.items()}
        if template.open:
            known[template.open] = self.text(values[template.open])
        if None in known.values():
            return None
        return _with_spaces(re.sub(r"\{(\w+)\}", lambda field: known[field[1]] or "", template.translation))

    def _known(self, text: str) -> str | None:
        """Names as they are, or the translation of a phrase; None if it is neither."""
        if all(map(_NAME.fullmatch, re.split(r", | \|\| ", text))):
            return text
        return self.words.get(text) if " " not in text else self._whole(text)

    def _in_brackets(self, text: str) -> str | None:
        match = _IN_BRACKETS.fullmatch(text)
        if not match:
            return None
        known = [*map(self._known, match.groups())]
        return None if None in known or known == [*match.groups()] else f"{known[0]}（{known[1]}）"

    def _ended(self, text: str) -> str | None:
        """A text that is known without the sign at its end."""
        body, end = text[:-1], text[-1:]
        known = end in _ENDS and not _NAME.fullmatch(body) and self._whole(body)
        return f"{known}{_ENDS[end]}" if known else None

    def _listed(self, text: str) -> str | None:
        """Parts between signs, all of them known or names; names alone are a list of names."""
        for sign, shown in _SIGNS:
            for parts in _ways(text, sign):
                known = [self._known(part) for part in parts]
                if None not in known and ("and" in sign or known != [*parts]):
                    return shown.join(part or "" for part in known)
        return None

    def _in_part(self, text: str) -> str:
        """The text; its part up to the first colon, or from the last comma on, is translated if it is known."""
        head, colon, rest = text.partition(": ")
        if colon and not _NAME.fullmatch(head) and (known := self._whole(head)):
            return f"{known}：{self.text(rest)}"
        rest, comma, tail = text.rpartition(", ")
        known = self._whole(tail) if comma and not _NAME.fullmatch(tail) else None
        return f"{rest}，{known}" if known else text

    def _sentences(self, text: str) -> str | None:
        """The sentences, as many at once as are known; one that is not stays."""
        sentences = re.split(_SENTENCE_END, text)
        if len(sentences) == 1:
            return None
        shown: list[str] = []
        while sentences:
            for number in range(len(sentences), 0, -1):
                if known := self._whole(" ".join(sentences[:number])):
                    break
            shown.append(known or sentences[0])
            del sentences[:number]
        return _with_spaces(" ".join(shown))


_WORD_TABLES = ("words", "nouns", "units")


def _ways(text: str, sign: str) -> Iterator[Sequence[str]]:
    """The parts between all signs, and before and behind each of them."""
    parts = re.split(sign, text)
    if len(parts) > 1:
        yield parts
    if len(parts) > 2:
        for match in re.finditer(sign, text):
            yield text[: match.start()], text[match.end() :]


def _with_spaces(text: str) -> str:
    for pattern, space in _SPACES:
        text = re.sub(pattern, space, text)
    return text


def width_of(text: str) -> int:
    """The columns of the text in a terminal: wide characters have two."""
    return len(text) + len(re.findall(_WIDE, text))
