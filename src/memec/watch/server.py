"""The watch page: a small web server for this machine alone that reads one run."""

import errno
import socket
from asyncio import Semaphore
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from memec.errors import MemecError, from_extra
from memec.train import RunFolder
from memec.watch.explorer import Explorer
from memec.watch.live import live
from memec.watch.several import Board, SeveralRuns, runs_below
from memec.watch.trained import Names

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
LARGEST_SEED = 2**31
MOST_WAITING = 64
"""Questions to the explorer at once: more than a page asks, which shows 50 memories with their pictures."""
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
PAGE_FILES = {
    "/": ("memec.watch", "static/watch.html", "text/html; charset=utf-8"),
    "/ask.js": ("memec.watch", "static/ask.js", "text/javascript; charset=utf-8"),
    "/watch.js": ("memec.watch", "static/watch.js", "text/javascript; charset=utf-8"),
    "/explorer.js": ("memec.watch", "static/explorer.js", "text/javascript; charset=utf-8"),
    "/maps.js": ("memec.watch", "static/maps.js", "text/javascript; charset=utf-8"),
    "/watch.css": ("memec.watch", "static/watch.css", "text/css; charset=utf-8"),
    "/style.css": ("memec.report", "static/style.css", "text/css; charset=utf-8"),
    "/theme.js": ("memec.report", "static/theme.js", "text/javascript; charset=utf-8"),
    "/plotly.js": ("memec.report", "static/plotly.js", "text/javascript; charset=utf-8"),
}
LIST_FILES = {
    "/": ("memec.watch", "static/runs.html", "text/html; charset=utf-8"),
    "/runs.js": ("memec.watch", "static/runs.js", "text/javascript; charset=utf-8"),
    **{name: PAGE_FILES[name] for name in ("/ask.js", "/watch.css", "/style.css", "/theme.js", "/plotly.js")},
}


def watch(
    run: Path,
    *,
    port: int = 0,
    env: str | None = None,
    parts: Names = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the page of a run, or of a folder of runs, until Ctrl-C; with port 0 the system chooses a free one."""
    with from_extra("watch", "Watching"):
        import starlette  # noqa: F401
        from uvicorn import Config

        from memec.watch.serving import Connection, Server
    several = not (run / "run.json").exists() and bool(runs_below(run))
    if not several:
        RunFolder.open(run).record()
    with _listening(port) as listener:
        port = listener.getsockname()[1]
        served: SeveralRuns | OneRun = list_of(run, env, parts) if several else OneRun(run, Explorers(run, env, parts))
        config = Config(
            Guard(served, port),
            http=Connection,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        say(f"Watching {run} at http://{LOOPBACK}:{port}/ (Ctrl-C stops)")
        with suppress(KeyboardInterrupt):
            Server(config, served.stop).run(sockets=[listener])


class OneRun:
    """The application of one run."""

    def __init__(self, run: Path, explorers: "Explorers") -> None:
        from starlette.responses import JSONResponse

        answers = {path: explorers.in_turn(answer) for path, answer in explorers.answers().items()}
        self._pages = _pages(PAGE_FILES, {"/api/live": lambda _: JSONResponse(live(run)), **answers})
        self.stop = explorers.stop

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        await self._pages(scope, receive, send)


def list_of(folder: Path, env: str | None, parts: Names) -> SeveralRuns:
    """Return the application of a folder of runs."""
    from starlette.responses import JSONResponse

    def page_of(run: Path) -> tuple["ASGIApp", Callable[[], None]]:
        one = OneRun(run, Explorers(run, env, parts))
        return one, one.stop

    board = Board(folder)
    return SeveralRuns(folder, _pages(LIST_FILES, {"/api/runs": lambda _: JSONResponse(board.look())}), page_of)


def application(run: Path, port: int, explorers: "Explorers") -> "ASGIApp":
    """Return the web application of a run; it answers only to this machine's own names with this port."""
    return Guard(OneRun(run, explorers), port)


def _pages(page_files: dict[str, tuple[str, str, str]], answers: dict[str, Any]) -> "ASGIApp":
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    def mistake(_: "Request", error: Exception) -> "Response":
        return JSONResponse({"error": str(error)})  # the page shows it; any other status would fill the console

    routes = [Route(path, _page_file(*file), methods=["GET"]) for path, file in page_files.items()]
    routes += [Route(path, answer, methods=["GET"]) for path, answer in answers.items()]
    app: Starlette = Starlette(routes=routes, exception_handlers={MemecError: mistake})
    return app


class Guard:
    """Lets only reading requests in that were meant for this very server, and keeps pages from loading anything else.

    Without the check of the host, a foreign site could point a name of its own here and read along.
    """

    def __init__(self, app: "ASGIApp", port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost", "[::1]")}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            return
        headers = {name: value.decode("latin-1").lower() for name, value in scope["headers"]}

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            await send(message)

        app = self._app
        if headers.get(b"host") not in self._hosts or headers.get(b"sec-fetch-site") == "cross-site":
            app = PlainTextResponse("This page is for this machine only.", 403)
        elif scope["method"] not in ("GET", "HEAD"):
            app = PlainTextResponse("This page is only read.", 405)
        await app(scope, receive, send_guarded)


class Explorers:
    """The explorer of the newest checkpoint that was asked for. It answers one question at a time."""

    def __init__(self, run: Path, env: str | None, parts: Names) -> None:
        self._parts = parts
        self._run = run
        self._env = env
        self._explorer: Explorer | None = None
        self._turn = Semaphore()
        self._waiting = 0
        self._stopped = Event()

    def stop(self) -> None:
        """Answer nothing more, and break off what is being played."""
        self._stopped.set()

    def in_turn(self, answer: Callable[["Request"], "Response"]) -> Callable[["Request"], Awaitable["Response"]]:
        """Return what gives an answer in a thread when its turn has come, if somebody still waits for it.

        What waits for its turn has no thread, so that however much is asked, the run's state can be shown beside it.
        """
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response

        async def answer_in_turn(request: "Request") -> "Response":
            if self._waiting >= MOST_WAITING:
                raise MemecError("The explorer is asked too much at once: ask again in a while.")
            self._waiting += 1
            try:
                async with self._turn:
                    if self._stopped.is_set() or await request.is_disconnected():
                        return Response(status_code=503)
                    return await run_in_threadpool(answer, request)
            finally:
                self._waiting -= 1

        return answer_in_turn

    def answers(self) -> dict[str, Callable[["Request"], "Response"]]:
        """Return what answers each path."""
        from starlette.responses import JSONResponse, Response

        def picture(content: bytes | None) -> Response:
            return Response(status_code=404) if content is None else Response(content, media_type="image/png")

        def moment_of(request: "Request") -> tuple[int, bool, int]:
            return *_episode(request), _number(request, "moment")

        return {
            "/api/episode": lambda request: JSONResponse(self._newest(request).episode(*_episode(request))),
            "/api/moment": lambda request: JSONResponse(self._loaded(request).moment(*moment_of(request))),
            "/api/map": lambda request: JSONResponse(self._loaded(request).map()),
            "/picture/moment": lambda request: picture(self._loaded(request).moment_picture(*moment_of(request))),
            "/picture/memory": lambda request: picture(
                self._loaded(request).memory_picture(_number(request, "slot", 2**62))
            ),
        }

    def _newest(self, request: "Request") -> Explorer:
        """Return the explorer of the newest checkpoint if asked for that, else the one there is."""
        if self._explorer is None or request.query_params.get("newest") == "1":
            self._explorer = Explorer(self._run, self._env, self._parts, self._stopped.is_set)
        return self._explorer

    def _loaded(self, request: "Request") -> Explorer:
        """Return the explorer of the checkpoint that the page shows."""
        explorer = self._explorer
        if explorer is None or explorer.step != _number(request, "checkpoint", 2**62):
            raise MemecError("Another checkpoint is shown by now: play the episode again.")
        return explorer


def _episode(request: "Request") -> tuple[int, bool]:
    return _number(request, "seed"), request.query_params.get("exploring") == "1"


def _number(request: "Request", name: str, limit: int = LARGEST_SEED) -> int:
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 20) or int(text) >= limit:
        raise MemecError(f"{name} must be a whole number from 0 to {limit - 1:,}.")
    return int(text)


def _page_file(package: str, name: str, kind: str) -> Callable[["Request"], "Response"]:
    from starlette.responses import Response

    content = files(package).joinpath(name).read_bytes()

    def answer(_: "Request") -> "Response":
        return Response(content, headers={"content-type": kind})

    return answer


def _listening(port: int) -> socket.socket:
    """Return a socket that listens on this machine's own address."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise MemecError(f"Port {port} is taken: choose another, or leave --port out for a free one.") from None
        raise MemecError(f"Port {port} cannot be used: {error.strerror or error}.") from None
    except OverflowError:
        listener.close()
        raise MemecError(f"A port is a number from 0 to 65535, not {port}.") from None
    return listener
