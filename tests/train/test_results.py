"""The files that results are kept in."""

import gzip
from pathlib import Path

import pytest

from memec.errors import MemecError
from memec.train.results import PLAIN_TABLE, TABLE, add_run, read_record, read_rows, write_rows

KEY = ("CartPole-v1", "mfec", "ucb", "paper", 0)
ROWS = {KEY: [(100, 9.5), (200, 21.0)]}


def test_the_same_rows_give_the_same_bytes_and_come_back(tmp_path: Path) -> None:
    write_rows(tmp_path, ROWS)
    before = (tmp_path / TABLE).read_bytes()
    assert read_rows(tmp_path) == ROWS
    write_rows(tmp_path, read_rows(tmp_path))
    assert (tmp_path / TABLE).read_bytes() == before


def test_a_plain_table_is_taken_in_and_replaced(tmp_path: Path) -> None:
    write_rows(tmp_path, ROWS)
    (tmp_path / PLAIN_TABLE).write_bytes(
        gzip.decompress((tmp_path / TABLE).read_bytes()).replace(b"paper,0", b"paper,1")
    )
    both = ROWS | {(*KEY[:-1], 1): ROWS[KEY]}
    assert read_rows(tmp_path) == both
    add_run(tmp_path, (*KEY[:-1], 2), [(100, 1.0)], read_record(tmp_path))
    assert read_rows(tmp_path) == both | {(*KEY[:-1], 2): [(100, 1.0)]}
    assert not (tmp_path / PLAIN_TABLE).exists()


@pytest.mark.parametrize(
    "spoilt", [b"", b"no such file", gzip.compress(b"x" * 100)[:-9]], ids=["empty", "other", "cut"]
)
def test_a_torn_table_is_named(tmp_path: Path, spoilt: bytes) -> None:
    (tmp_path / TABLE).write_bytes(spoilt)
    if not spoilt:
        assert read_rows(tmp_path) == {}
        return
    with pytest.raises(MemecError, match=TABLE):
        read_rows(tmp_path)
