"""Checkpoints: everything a run needs to go on exactly as if it had never stopped."""

import warnings
from pathlib import Path
from typing import Any

from pydantic import NonNegativeFloat, NonNegativeInt

from memec.errors import MemecError
from memec.settings import Settings
from memec.train.files import Arrays, read_arrays, write_arrays

KEPT = 2
SUFFIX = ".safetensors"


class CheckpointSettings(Settings):
    """How often a run is saved; it is also saved at its end, on Ctrl-C and on SIGTERM."""

    every_seconds: NonNegativeFloat = 300.0
    """Seconds between two checkpoints; 0 for none by time."""
    every_steps: NonNegativeInt = 0
    """Steps between two checkpoints; 0 for none by steps."""


class Checkpoints:
    """The checkpoints in a folder, newest last; the last two are kept, so that a damaged one costs little."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def files(self) -> list[Path]:
        """Return the checkpoints there are, oldest first."""
        return sorted(self._folder.glob(f"step-*{SUFFIX}"))

    def write(self, step: int, arrays: Arrays, about: dict[str, Any]) -> None:
        """Write a checkpoint whole, then remove what it replaces."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_arrays(self._folder / f"step-{step:012d}{SUFFIX}", arrays, about)
        for old in self.files()[:-KEPT]:
            old.unlink(missing_ok=True)
        for torn in self._folder.glob(f".step-*{SUFFIX}.*"):  # left by a process that was killed while it wrote
            torn.unlink(missing_ok=True)

    def newest(self) -> tuple[Arrays, dict[str, Any], Path]:
        """Read the newest checkpoint that is whole; say so where that is not the newest there is."""
        files = self.files()
        if not files:
            raise MemecError(f"There is no checkpoint in {self._folder}.")
        damage = []
        for file in reversed(files):
            try:
                arrays, about = read_arrays(file)
            except MemecError as error:
                damage.append(str(error))
                continue
            for text in damage:
                warnings.warn(f"{text} Going on from the checkpoint before, {file.name}.", stacklevel=2)
            return arrays, about, file
        raise MemecError(f"No checkpoint in {self._folder} is whole: {damage[0]}")
