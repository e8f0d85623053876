"""Texts in the reader's language. Modules write English; what leaves for a person passes `translated`, which finds
its sentences in the language's catalog, English templates with their translations. So a rule has its English only,
stored rows of older runs have a translation too, and a sentence without one stays English.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from html import escape, unescape
from pathlib import Path

from spark_jobs.errors import ConfigurationError
from spark_jobs.show.language.catalog import Catalog

_FOLDER = Path(__file__).parent
#: Chosen by the environment, as other programs do.
AUTO, ENGLISH = "auto", "en"
#: What a command takes. Another language is one more catalog.
LANGUAGES = (ENGLISH, *sorted(file.stem for file in _FOLDER.glob("*.toml")), AUTO)
#: Of the command that runs.
LANGUAGE: ContextVar[str] = ContextVar("LANGUAGE", default=ENGLISH)


def language_of(name: str, environment: Mapping[str, str]) -> str:
    """The language of that name; `auto`: the environment's, English if it has no catalog.

    Raises `ConfigurationError` for a language without a catalog.
    """
    if name not in LANGUAGES:
        raise ConfigurationError(f"there is no language '{name}': choose one of {', '.join(LANGUAGES)}")
    if name != AUTO:
        return name
    of_system = next((environment[each] for each in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(each)), "")
    chosen = re.split(r"[_.@]", of_system.lower())[0]
    return chosen if chosen in LANGUAGES else ENGLISH


def translated(text: str) -> str:
    """The text, its sentences in the language; names, and what the catalog does not have, as they are."""
    catalog = _catalog(LANGUAGE.get())
    return catalog.text(text) if catalog else text


def word(text: str) -> str:
    """A fixed word, such as a heading, which a name may be, too."""
    catalog = _catalog(LANGUAGE.get())
    return catalog.words.get(text) or catalog.text(text) if catalog else text


#: Texts between tags, and attributes that people read; scripts, styles and code have none.
_SHOWN = re.compile(
    r"<(?P<skipped>script|style|code|pre)\b.*?</(?P=skipped)>"
    r"|(?P<opened><(?P<tag>\w+)[^<>]*>)(?P<first>[^<]*)|(?P<closed></\w+>)(?P<rest>[^<]+)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r'(?<= )(title|aria-label|placeholder|data-label)="([^"]+)"')
#: Elements that hold fixed words, or none but names in capitals.
_FIXED = ("th", "dt", "b", "button", "label")


def translated_page(page: str) -> str:
    """The HTML page in the language: texts between tags, and attributes that people read."""
    catalog = _catalog(LANGUAGE.get())
    if catalog is None:
        return page

    def of_attribute(match: re.Match[str]) -> str:
        return f'{match[1]}="{escape(word(unescape(match[2])))}"'

    def of_text(match: re.Match[str]) -> str:
        if match["skipped"]:
            return match[0]
        tag = _ATTRIBUTE.sub(of_attribute, match["opened"] or match["closed"])
        text = unescape(match["first"] or match["rest"] or "")
        inner = text.strip()
        is_fixed = match["tag"] in _FIXED or inner[:1].isupper() or 'class="severity' in tag
        shown = word(inner) if is_fixed else translated(inner)
        return tag + escape(text.replace(inner, shown) if inner else text, quote=False)

    return _SHOWN.sub(of_text, page).replace('<html lang="en">', f'<html lang="{LANGUAGE.get()}">')


@cache
def _catalog(language: str) -> Catalog | None:
    """The catalog of the language; None: English has none."""
    import tomllib  # not for English

    file = _FOLDER / f"{language}.toml"
    return Catalog(tomllib.loads(file.read_text(encoding="utf-8"))) if language != ENGLISH else None
