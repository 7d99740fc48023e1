"""Files are written whole or not at all, and read without trust."""

import errno
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from safetensors.numpy import load_file, save_file

from memec.errors import MemecError
from memec.train.files import read_arrays, read_json, read_outline, whole_file, write_arrays, write_json

KINDS = [np.bool_, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]
ARRAYS = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
    st.sampled_from(KINDS).flatmap(
        lambda kind: nps.arrays(kind, nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    ),
    max_size=5,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "file.safetensors"


@settings(max_examples=30, derandomize=True, database=None, deadline=None)
@given(arrays=ARRAYS)
def test_what_is_written_comes_back_and_the_library_can_read_it(arrays: dict[str, Any], file: Path) -> None:
    about = {"name": "ä", "number": 2**70, "list": [1.5, None]}
    write_arrays(file, arrays, about)
    found, said = read_arrays(file)
    assert said == about == read_outline(file)[0]
    assert read_outline(file)[1] == {name: array.shape for name, array in arrays.items()}
    theirs = load_file(file)
    for name, array in arrays.items():
        for other in (found[name], theirs[name]):
            assert other.dtype == array.dtype and other.shape == array.shape
            assert other.tobytes() == array.tobytes()


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    write_json(file, {"old": True})
    with pytest.raises(RuntimeError), whole_file(file) as half:
        half.write(b"half of it")
        raise RuntimeError
    assert read_json(file) == {"old": True} and list(tmp_path.iterdir()) == [file]


def test_names_that_may_not_last_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that could not be opened is not synced: a checkpoint in it must not be taken for safe."""

    def no_more(*_: Any) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "open", no_more)
    with pytest.raises(OSError, match="Too many open files"):
        write_json(tmp_path / "file.json", {})


def test_a_link_is_replaced_rather_than_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("dear")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    write_json(tmp_path / "file", {})
    assert (tmp_path / "victim").read_text() == "dear" and not (tmp_path / "file").is_symlink()


def header(content: Any, data: bytes = b"", length: int | None = None) -> bytes:
    head = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack("<Q", len(head) if length is None else length) + head + data


def part(shape: list[int], start: int, stop: int, kind: str = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [start, stop]}


FOREIGN = {
    "empty": b"",
    "terabytes of header": header({}, length=2**42),
    "the largest header there is": header({}, length=2**64 - 1),
    "an array of terabytes": header({"x": part([2**40], 0, 2**42)}, b"1234"),
    "sizes that overflow": header({"x": part([2**62, 2**62, 16], 0, 0)}),
    "negative sizes": header({"x": part([-1], 0, 4)}, b"1234"),
    "nothing of much": header({"x": part([0, 2**62], 0, 0)}),
    "a hundred thousand arrays": header({f"{n}": part([0], 0, 0) for n in range(100_000)}),
    "many arrays": header({f"{n}": part([0], 0, 0) for n in range(2_000)}),
    "overlapping arrays": header({"x": part([1], 0, 4), "y": part([1], 0, 4)}, b"1234"),
    "a type that numpy lacks": header({"x": part([2], 0, 4, "BF16")}, b"1234"),
    "an unknown type": header({"x": part([1], 0, 4, "OBJECT")}, b"1234"),
    "deep nesting": header(b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "deep nesting inside": header({"__metadata__": {"about": "[" * 100_000, "digest": ""}}),
    "a number of many digits": header({"__metadata__": {"about": "9" * 10_000}}),
    "no object": header({"__metadata__": {"about": "[]"}}),
    "no text": header({"__metadata__": {"about": {}}}),
    "half a letter": header({"__metadata__": {"about": '{"a": "\\ud800"}', "digest": "x"}}),
    "not JSON": header(b"\xff\xfe\x00"),
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
    "a zip": b"PK\x03\x04" + bytes(60),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_foreign_file_is_refused_in_one_sentence(what: str, tmp_path: Path) -> None:
    file = tmp_path / "foreign"
    file.write_bytes(FOREIGN[what])
    with pytest.raises(MemecError) as error:
        read_arrays(file)
    assert "\n" not in str(error.value) and str(file) in str(error.value) and len(str(error.value)) < 1_000


def test_a_file_of_the_library_without_our_words_is_refused(tmp_path: Path) -> None:
    save_file({"x": np.zeros(3)}, tmp_path / "file")
    with pytest.raises(MemecError, match="not written by memec"):
        read_arrays(tmp_path / "file")


@settings(max_examples=150, derandomize=True, database=None, deadline=None)
@given(content=st.binary(max_size=200), head=st.one_of(st.none(), st.integers(0, 300)))
def test_no_bytes_break_the_reader(content: bytes, head: int | None, file: Path) -> None:
    file.write_bytes(content if head is None else header(content, length=head))
    for read in (read_arrays, read_outline, read_json):
        try:
            read(file)
        except MemecError as error:
            assert "\n" not in str(error)
