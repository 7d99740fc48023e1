"""How `make docs` makes a site. Its source is the whole repository, so that a link leads where it does there."""

from importlib.metadata import version as version_of
from typing import Any

from memec.settings import Settings, setting_names

project = "memec"
author = "The memec maintainers"
copyright = "the memec maintainers"
version = release = version_of("memec")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/reproduction/*.md", "examples/README.md", "results/neural/README.md"]
exclude_patterns = [".*", "*/.*", "benchmarks", "demo", "docs/_build", "results/[!n]*", "runs", "src", "tests"]

html_theme = "furo"
html_title = f"memec {version}"
html_extra_path = ["site"]
html_show_search_summary = False  # a page opened from the disk may not read another one
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
highlight_language = "text"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]  # a page that is a part of another one begins with a smaller heading

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True


def add_settings(_app: Any, what: str, _name: str, described: Any, _options: Any, lines: list[str]) -> None:
    """List what can be set, as `memec list` does."""
    if what == "class" and issubclass(described, Settings):
        for name, field in setting_names(described):
            if name != "name" and not name.startswith("explore."):
                default = "" if field.is_required() else f" = {field.default!r}"
                lines.append(f"- ``{name}{default}``: {field.description or ''}")


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", add_settings)
