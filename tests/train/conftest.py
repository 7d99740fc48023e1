"""What the tests of runs share."""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from memec import cli


class Result(NamedTuple):
    status: int
    out: str
    error: str


Memec = Callable[..., Result]


@pytest.fixture
def memec(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Memec:
    """Call the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["memec", *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # as a user has it
            try:
                cli.main()
                status = 0
            except SystemExit as leaving:
                status = leaving.code if isinstance(leaving.code, int) else 0
        return Result(status, *capsys.readouterr())

    return call
