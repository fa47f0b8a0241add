"""Lets MkDocs build the site from the files that a reader of the repository sees.

The README is the home page, and two more pages stand outside of ``docs``. Links are written for the
repository; here they are turned to the places in the site. A linked file that is no page is copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "tests/README.md": "tests.md",
}
"""Pages outside of ``docs``, and their places in the site."""

LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"^```.*?^```$|``.+?``|`[^`\n]+`|^(?: {4}.*\n)+", re.MULTILINE | re.DOTALL)


def on_files(files, config):
    """Adds the pages and the linked files that lie outside of ``docs``."""
    from mkdocs.structure.files import File  # the tests read links without MkDocs

    for path, place in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    for path in sorted({target for page in pages() for target in targets(page)}):
        if files.get_file_from_path(place_of(path)) is None:
            files.append(File.generated(config, place_of(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turns the links of a page to the places in the site."""
    place = page.file.src_uri
    path = next((each for each, other in PAGES.items() if other == place), f"docs/{place}")

    def turned(match: re.Match[str]) -> str:
        if is_remote(match[1]):
            return match[0]
        target = place_of(resolved(path, match[1]))
        return relpath(target, str(PurePosixPath(place).parent)) + (match[2] or "")

    return LINK.sub(turned, markdown)


def pages() -> list[str]:
    """The pages of the site, by their paths in the repository."""
    return [*PAGES, *sorted(each.relative_to(ROOT).as_posix() for each in (ROOT / "docs").rglob("*.md"))]


def targets(page: str) -> Iterator[str]:
    """The files that a page links to, by their paths in the repository."""
    for match in LINK.finditer(CODE.sub("", (ROOT / page).read_text())):
        if not is_remote(match[1]):
            yield resolved(page, match[1])


def resolved(page: str, link: str) -> str:
    """The path in the repository that a link stands for."""
    return normpath(str(PurePosixPath(page).parent / link))


def place_of(path: str) -> str:
    """The place of a file in the site."""
    return PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}")


def is_remote(link: str) -> bool:
    return re.match(r"[a-z]+:", link) is not None
