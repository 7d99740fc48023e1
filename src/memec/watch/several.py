"""Watching a folder of runs: a list of them as they stand, and the page of each behind its name."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memec.errors import MemecError
from memec.watch.live import live

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

MOST_RUNS = 500
MOST_PAGES = 4
"""Runs whose explorer is kept: each may hold an agent."""
MOST_POINTS = 200
FILES = ("run.json", "episodes.csv", "evaluations.csv")
SHOWN = (
    "environment", "agent", "strategy", "status", "quiet", "reason", "step", "steps", "score", "speed", "evaluation",
)  # fmt: skip
PREFIX = "/run/"


def key_of(name: str) -> str:
    """Return what stands for a run in addresses: its name may hold anything."""
    return sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def runs_below(folder: Path) -> dict[str, Path]:
    """Return the run folders in a folder, by their keys, in the order of their names."""
    found = sorted(file.parent for file in folder.rglob("run.json") if file.is_file())
    return {key_of(str(path.relative_to(folder))): path for path in found[:MOST_RUNS]}


class Board:
    """How all runs of a folder stand: what has not changed since the last look is not read again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[str, tuple[Any, dict[str, Any]]] = {}

    def look(self) -> dict[str, Any]:
        """Return one entry per run."""
        runs = []
        for key, path in runs_below(self.folder).items():
            stamp = [_stamp(path / name) for name in FILES]
            known = self._seen.get(key)
            if known is None or known[0] != stamp or known[1].get("status") == "running":
                known = stamp, self._read(key, path)
                self._seen[key] = known
            runs.append(known[1])
        return {"folder": self.folder.resolve().name, "runs": runs}

    def _read(self, key: str, path: Path) -> dict[str, Any]:
        about = {"key": key, "name": str(path.relative_to(self.folder)).encode("utf-8", "replace").decode()}
        try:
            run = live(path)
        except MemecError as error:  # one bad run does not hide the others
            return about | {"trouble": str(error)}
        curve = run["evaluations"]
        every = -(-len(curve["step"]) // MOST_POINTS) or 1
        seed = run["settings"].get("seed", "")
        return (
            about
            | {name: run[name] for name in SHOWN}
            | {"seed": seed, "curve": {name: curve[name][::every] for name in ("step", "mean_score")}}
        )


class SeveralRuns:
    """The application of a folder: the list, and below `/run/KEY/` the page of each run."""

    def __init__(self, folder: Path, pages: "ASGIApp", page_of: Callable[[Path], tuple["ASGIApp", Callable[[], None]]]):
        self._folder = folder
        self._pages = pages
        self._page_of = page_of
        self._open: dict[str, tuple[ASGIApp, Callable[[], None]]] = {}

    def stop(self) -> None:
        """Break off what any of the pages is doing."""
        for _, stop in self._open.values():
            stop()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import PlainTextResponse, RedirectResponse

        path = scope["path"]
        if not path.startswith(PREFIX):
            await self._pages(scope, receive, send)
            return
        key, slash, rest = path.removeprefix(PREFIX).partition("/")
        app: ASGIApp
        if not slash:
            app = RedirectResponse(f"{PREFIX}{key}/") if key.isalnum() else PlainTextResponse("Not found", 404)
        else:
            found = await run_in_threadpool(self._page, key)
            app = PlainTextResponse("There is no such run (any more).", 404) if found is None else found
        await app(dict(scope, path=f"/{rest}", raw_path=f"/{rest}".encode()), receive, send)

    def _page(self, key: str) -> "ASGIApp | None":
        if key not in self._open:
            path = runs_below(self._folder).get(key)
            if path is None:
                return None
            while len(self._open) >= MOST_PAGES:
                _, stop = self._open.pop(next(iter(self._open)))
                stop()
            self._open[key] = self._page_of(path)
        return self._open[key][0]


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        about = file.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size
