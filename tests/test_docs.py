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


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / page).read_text()):
        if "://" not in link:
            assert (ROOT / page).parent.joinpath(link).exists(), f"{page}: {link}"


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
