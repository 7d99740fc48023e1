"""What the pages say of the code is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",
    *(f"docs/{page.name}" for page in ROOT.glob("docs/*.md")),
]


BLOCK = re.compile(r"(?:<!-- not run: (.+) -->\n)?```python\n(.*?)^```", re.M | re.S)
"""What is Python in a page, and why it is only compiled, where that is said before it."""


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for link, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", (ROOT / page).read_text()):
        if "://" not in link:
            target = (ROOT / page).parent / link if link else ROOT / page
            assert target.exists(), f"{page}: {link}"
            assert not anchor or anchor in anchors(target), f"{page}: {link}#{anchor}"


def anchors(page: Path) -> set[str]:
    """What GitHub and the site make of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in (ROOT / page).read_text()])
def test_the_python_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for reason, block in BLOCK.findall((ROOT / page).read_text()):
        code = compile(block, page, "exec")
        if not reason:
            exec(code, names)


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"^([\w/.-]+)$", (ROOT / "docs/index.md").read_text(), re.M))
    assert listed >= {page.stem for page in ROOT.glob("docs/*.md")} - {"index"}


def test_no_page_is_large() -> None:
    assert max((ROOT / page).stat().st_size for page in PAGES) < 300_000


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/paper.md", "docs/extending.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    package = ROOT / "src" / "memec"
    for name in re.findall(r"`([\w./-]+(?:\.py|/))`", (ROOT / page).read_text()):
        places = [ROOT / name, package / name, *package.glob(f"*/{name}")]
        assert any(place.exists() for place in places) or name in RUN_FOLDER, f"{page}: {name}"


RUN_FOLDER = ("checkpoint/",)


def test_equations_are_cited_by_the_numbers_of_the_page() -> None:
    listed = {int(number) for number in re.findall(r"^\| Eq\. (\d)", (ROOT / "docs/paper.md").read_text(), re.M)}
    cited: dict[int, set[str]] = {}
    for file in (ROOT / "src").rglob("*.py"):
        for numbers in re.findall(r"Eq\. (\d(?: and \d)?)", file.read_text()):
            for number in numbers.split(" and "):
                cited.setdefault(int(number), set()).add(str(file.relative_to(ROOT)))
    page = (ROOT / "docs/paper.md").read_text()
    assert listed == {1, 2, 3, 4, 5, 6} and set(cited) == {2, 3, 4, 5, 6}
    for number, files in cited.items():
        (row,) = re.findall(rf"^\| Eq\. {number} .*$", page, re.M)
        assert all(file in row for file in files), (number, files)
