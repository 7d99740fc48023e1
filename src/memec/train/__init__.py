"""The loop, evaluation and the run folder; knows an agent only by its protocol."""

from memec.train.evaluation import evaluating
from memec.train.events import Episode, Evaluation, Event, Tick
from memec.train.loop import Loop, TrainingSettings
from memec.train.progress import show_progress
from memec.train.run_folder import RunFolder
from memec.train.seeds import Seeds

__all__ = [
    "Episode",
    "Evaluation",
    "Event",
    "Loop",
    "RunFolder",
    "Seeds",
    "Tick",
    "TrainingSettings",
    "evaluating",
    "show_progress",
]
