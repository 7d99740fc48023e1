"""Check a site that `make docs` built: links lead somewhere, nothing is loaded from elsewhere, no page is large."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

LARGEST_PAGE = 300_000
LOADING = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}
"""What a browser fetches without being asked; `link` also says where a page belongs, which is not fetched."""


class Page(HTMLParser):
    """The links, the anchors and what is loaded of one page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Take down what one element refers to."""
        given = {name: value for name, value in attributes if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in LOADING and LOADING[tag] in given and given.get("rel") != "canonical":
            self.loaded.append(given[LOADING[tag]])


def complaints(site: Path) -> list[str]:
    """Return what is wrong with the site, a line each."""
    pages = {file.resolve(): Page(file) for file in sorted(site.rglob("*.html"))}
    wrong = [f"{file}: {file.stat().st_size:,} bytes" for file in pages if file.stat().st_size > LARGEST_PAGE]
    for file, page in pages.items():
        wrong += [f"{file}: loads {address}" for address in page.loaded if "//" in address.partition("?")[0]]
        for link in {*page.links, *page.loaded}:
            path, anchor = urldefrag(link.partition("?")[0] if "#" not in link else link)
            if ":" in path or path.startswith("//"):
                continue
            target = (file.parent / unquote(path)).resolve() if path else file
            if not target.exists() or (target in pages and unquote(anchor) not in pages[target].anchors):
                wrong.append(f"{file}: leads to {link}, which is not there")
    wrong += [
        f"{style}: loads from elsewhere" for style in site.rglob("*.css") if "url(http" in style.read_text().lower()
    ]
    return wrong


if __name__ == "__main__":
    found = complaints(Path(sys.argv[1]))
    print("\n".join(found) or "Every link of the site leads somewhere, and nothing is loaded from elsewhere.")
    sys.exit(bool(found))
