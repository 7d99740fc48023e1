"""A run as TensorBoard shows it: scores, evaluations and the agent's diagnostics over the steps."""

import time
from pathlib import Path
from typing import Any

from memec.errors import MemecError, from_extra
from memec.train.events import Episode, Evaluation, Event

FLUSH_SECONDS = 10


class TensorBoard:
    """Writes event files, by the package of that name alone: no other framework is imported."""

    def __init__(self, folder: Path) -> None:
        with from_extra("tensorboard", "Writing event files"):
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        if folder.is_symlink():
            raise MemecError(f"{folder} is a link to another place: put what it points to in its place.")
        self._folder = folder
        self._events: Any = event_pb2
        self._summaries: Any = summary_pb2
        self._writer_type = EventFileWriter
        self._writer: Any = None

    def begin(self, step: int) -> None:
        """Begin at this step; what earlier files say beyond it is then left out by TensorBoard."""
        self._writer = self._writer_type(str(self._folder), flush_secs=FLUSH_SECONDS)
        start = self._events.SessionLog(status=self._events.SessionLog.START)
        self._writer.add_event(self._events.Event(wall_time=time.time(), step=step, session_log=start))

    def take(self, event: Event) -> None:
        """Write down an episode or an evaluation."""
        if isinstance(event, Episode):
            self.scalars("episode", {"score": event.score, "length": event.length}, event.step)
        elif isinstance(event, Evaluation):
            names = ("mean_score", "std_score", "min_score", "max_score", "mean_length")
            self.scalars("evaluation", {name: getattr(event, name) for name in names}, event.step)

    def scalars(self, group: str, values: dict[str, float], step: int) -> None:
        """Write numbers under `group/name`."""
        summary = self._summaries.Summary(
            value=[
                self._summaries.Summary.Value(tag=f"{group}/{name}", simple_value=value)
                for name, value in values.items()
            ]
        )
        self._writer.add_event(self._events.Event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        """Write out everything."""
        if self._writer is not None:
            self._writer.close()
