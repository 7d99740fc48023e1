"""Coverage-guided fuzzing of all that reads a file of anybody; needs atheris, in an environment of its own.

    python -m venv .fuzz && .fuzz/bin/pip install atheris
    echo $PWD/.venv/lib/python3.*/site-packages > $(echo .fuzz/lib/python3.*/site-packages)/memec.pth
    .fuzz/bin/python -m tests.train.fuzz_readers -max_total_time=3600

Every reader answers with what it read or with a MemecError of one line; anything else stops the fuzzing with its input.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["memec.train", "memec.settings", "memec.saved_arrays"]):
    from memec.errors import MemecError
    from memec.train.checkpoint import Checkpoints
    from memec.train.diary import read_diary
    from memec.train.files import read_arrays, read_json, read_outline
    from memec.train.run_folder import RunFolder

HOME = Path(tempfile.mkdtemp(prefix="memec-fuzz-"))
(HOME / "checkpoint").mkdir()
READERS = {
    "checkpoint/step-000000000001.safetensors": (
        read_arrays,
        read_outline,
        lambda path: read_outline(path, verified=True),
        lambda path: Checkpoints(path.parent).newest("run"),
    ),
    "run.json": (read_json, lambda path: RunFolder.open(path.parent).record()),
    "diary.jsonl": (lambda path: read_diary(path.parent),),
}


def one(content: bytes) -> None:
    """Let every reader of one kind of file read it."""
    if not content:
        return
    name = sorted(READERS)[content[0] % len(READERS)]
    file, content = HOME / name, content[1:]
    if name.endswith("safetensors"):  # a length that fits, or hardly anything would come further
        head, _, rest = content.partition(b"\xff")
        content = len(head).to_bytes(8, "little") + head + rest
    file.write_bytes(content)
    for reader in READERS[name]:
        try:
            reader(file)
        except MemecError as error:
            assert "\n" not in str(error), str(error)


def seeds(place: Path) -> Path:
    """Write what to begin with."""
    header = b'{"__metadata__":{"about":"{\\"run\\":\\"run\\",\\"segments\\":[]}","digest":"x"},"a":'
    header += b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    begin = {"checkpoint": b"\x00" + header + b"\xff1234", "diary": b'\x01{"step": 1, "seconds": 2.0}\n'}
    begin["run"] = b'\x02{"format": 1, "id": "x", "settings": {}}'
    place.mkdir()
    for name, content in begin.items():
        (place / name).write_bytes(content)
    return place


if __name__ == "__main__":
    atheris.Setup([*sys.argv, str(seeds(HOME / "corpus"))], one)
    atheris.Fuzz()
