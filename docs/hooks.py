"""For MkDocs: the files that pages link to, and links that name pages by their titles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
_OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)(?:#[^)]*)?\)")
_FILE_NAME = re.compile(r"\[[\w-]+\.md\]\(([\w-]+\.md)")


def on_config(config: Any) -> Any:
    """The configuration, with the pages of the rules behind their index; it is asked once per language."""
    (reference,) = (entry["Reference"] for entry in config["nav"] if "Reference" in entry)
    if {"Rules": "findings.md"} not in reference:
        return config
    place = reference.index({"Rules": "findings.md"})
    pages = [
        f"rules/{page.name}" for page in sorted((ROOT / "docs" / "rules").glob("*.md")) if page.suffixes == [".md"]
    ]
    reference[place] = {"Rules": ["findings.md", *pages]}
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages, and under `files/` every other file that one of them links to."""
    pages = [page.content_string for page in files.documentation_pages() if _is_on_top(page)]
    for path in sorted({path for text in pages for path in _OUTSIDE.findall(text)}):
        files.append(File.generated(config, f"files/{path}.txt", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page, with such links led to the copies, and a link that says `tables.md` saying that page's title."""
    named = _FILE_NAME.sub(lambda link: f"[{_title(link[1])}]({link[1]}", markdown)
    return _OUTSIDE.sub(r"](files/\1.txt)", named) if _is_on_top(page.file) else named


def _is_on_top(file: File) -> bool:
    """Of a page in a folder, `../` leads to pages."""
    return "/" not in file.src_uri


def _title(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
