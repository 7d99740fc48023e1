"""A process that does one run after another for the local engine: jobs come as lines of JSON, and so go the answers.

The pipe is also the leash: when it closes, because the engine wants to stop or because its process is gone, the run
under way writes a checkpoint and the worker leaves.
"""

import json
import os
import queue
import signal
import sys
import threading

from memec.experiments.engine import Job, work


def main() -> None:
    """Work until the pipe closes."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not be read as an answer
    jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    while (job := jobs.get()) is not None:
        ended = work(job)
        try:
            answers.write(json.dumps(ended) + "\n")
            answers.flush()
        except BrokenPipeError:
            break
    os._exit(0)  # nothing is left to be written, and the interpreter need not wait for the listening thread


def _listen(jobs: "queue.SimpleQueue[Job | None]") -> None:
    for line in sys.stdin:
        jobs.put(Job.from_json(json.loads(line)))
    jobs.put(None)
    os.kill(os.getpid(), signal.SIGTERM)  # which a run takes as the wish to stop after this step


if __name__ == "__main__":
    main()
