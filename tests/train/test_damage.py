"""Whatever part of a run is damaged, it is never gone on with wrongly: the earlier checkpoint, or a clear refusal."""

import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from memec.agents import D3QN, MFEC
from memec.errors import MemecError
from memec.train import RunFolder
from memec.train.checkpoint import CheckpointSettings
from memec.train.files import read_arrays, write_arrays
from tests.command import Memec

from .torture import compare

STEPS = 260


def d3qn() -> D3QN:
    return D3QN("CartPole-v1", train_start_steps=40, replay_capacity=100, batch_size=8)


def mfec() -> MFEC:
    return MFEC("CartPole-v1", memory={"capacity": 70})


@pytest.fixture(scope="module", params=[mfec, d3qn])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A whole run, and one that was stopped with two checkpoints."""
    home = tmp_path_factory.mktemp("runs")
    every = CheckpointSettings(every_steps=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memec.train.journal.SMALL_ROWS", 20)
        request.param().learn(STEPS, run=home / "whole", evaluate_every=100, evaluation_episodes=1)
        request.param().learn(
            STEPS,
            run=home / "stopped",
            evaluate_every=100,
            evaluation_episodes=1,
            checkpoint=every,
            callback=lambda event: event.step < 200,
        )
    yield home


def go_on(run: Path) -> None:
    """Take a run to its end, as its agent."""
    made = {"mfec": mfec, "d3qn": d3qn}[RunFolder.open(run).record()["settings"]["agent"]["name"]]
    made().learn(STEPS, resume=run)


def checkpoints(run: Path) -> list[Path]:
    return sorted((run / "checkpoint").glob("step-*"))


def one_sentence(error: pytest.ExceptionInfo[MemecError]) -> bool:
    return "\n" not in str(error.value) and 20 < len(str(error.value)) < 600


def test_every_part_of_a_checkpoint_is_under_its_checksum(runs: Path, tmp_path: Path) -> None:
    whole = checkpoints(runs / "stopped")[-1]
    content = whole.read_bytes()
    arrays, about = read_arrays(whole)
    header = 8 + int.from_bytes(content[:8], "little")
    damaged = tmp_path / "damaged"
    beginnings = {header + start for start in _offsets(content[8:header])}
    places = {*range(0, 40), *range(40, header, 11), *range(header, len(content), 997), *beginnings, len(content) - 1}
    for place in sorted(places):
        for mask in (0x01, 0x80):
            damaged.write_bytes(content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :])
            try:
                found, said = read_arrays(damaged)
            except MemecError as error:
                assert "\n" not in str(error)
                continue
            assert said == about and found.keys() == arrays.keys()  # such as one blank for another
            assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


def _offsets(header: bytes) -> Iterator[int]:
    for part in json.loads(header).values():
        if "data_offsets" in part and part["data_offsets"][0] < part["data_offsets"][1]:
            yield from (part["data_offsets"][0], part["data_offsets"][1] - 1)


def test_a_file_cut_off_anywhere_or_made_longer_is_refused(runs: Path, tmp_path: Path) -> None:
    content = checkpoints(runs / "stopped")[-1].read_bytes()
    damaged = tmp_path / "damaged"
    lengths = {0, 1, 7, 8, 9, 100, *range(0, len(content), len(content) // 50), len(content) - 1}
    for damage in [*(content[:length] for length in sorted(lengths)), content + b"\0", content + content]:
        damaged.write_bytes(damage)
        with pytest.raises(MemecError) as error:
            read_arrays(damaged)
        assert one_sentence(error)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)


def another_runs(file: Path) -> None:
    """Put a checkpoint of another run in its place: whole, and yet wrong."""
    arrays, about = read_arrays(file)
    write_arrays(file, arrays, about | {"run": "another"})


DAMAGES: list[Callable[[Path], object]] = [
    flip,
    another_runs,
    lambda file: file.write_bytes(b""),
    lambda file: file.write_bytes(file.read_bytes()[:-1]),
    lambda file: (file.unlink(), file.mkdir()),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_checkpoint_costs_only_the_time_since_the_one_before(
    runs: Path, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    run = Path(shutil.copytree(runs / "stopped", tmp_path / "run"))
    earlier, newest = checkpoints(run)
    damage(newest)
    with pytest.warns(UserWarning, match=f"Going on from the checkpoint before, {earlier.name}"):
        go_on(run)
    compare(runs / "whole", run)


def test_with_both_checkpoints_damaged_the_run_is_left_alone(runs: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(runs / "stopped", tmp_path / "run"))
    for file in checkpoints(run):
        flip(file)
    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    with pytest.raises(MemecError, match=r"No checkpoint in .* can be used") as error:
        go_on(run)
    assert one_sentence(error)
    assert before == {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}


@pytest.mark.parametrize("damage", [flip, Path.unlink, lambda file: file.write_bytes(b"")])
def test_a_damaged_segment_of_a_replay_is_noticed(runs: Path, tmp_path: Path, damage: Callable[[Path], object]) -> None:
    segments = sorted(file.name for file in (runs / "stopped" / "checkpoint").glob("rows-*"))
    noticed = 0
    for name in segments:
        run = Path(shutil.copytree(runs / "stopped", tmp_path / name))
        damage(run / "checkpoint" / name)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                go_on(run)
            except MemecError as error:
                noticed += "No checkpoint" in str(error)
                continue
        noticed += any("Going on from the checkpoint before" in str(warning.message) for warning in said)
        compare(runs / "whole", run)
    # the oldest segments may be such that only the earlier checkpoint needs them
    assert noticed >= len(segments) - 2 and bool(segments) == (_agent_of(runs) == "d3qn")


def test_segments_swapped_for_each_other_are_noticed(runs: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(runs / "stopped", tmp_path / "run"))
    segments = sorted((run / "checkpoint").glob("rows-*"))
    for segment, other in zip(segments, segments[1:] + segments[:1], strict=True):
        shutil.copy(runs / "stopped" / "checkpoint" / other.name, segment)
    if not segments:
        assert _agent_of(runs) == "mfec"
        return
    with pytest.raises(MemecError, match="another file than it was") as error:
        go_on(run)
    assert one_sentence(error)


def _agent_of(runs: Path) -> str:
    return str(RunFolder.open(runs / "whole").record()["settings"]["agent"]["name"])


@pytest.mark.parametrize("name", ["episodes.csv", "evaluations.csv"])
def test_a_changed_csv_file_is_not_written_on(runs: Path, tmp_path: Path, name: str) -> None:
    damages: list[Callable[[Path], object]] = [flip, Path.unlink, lambda f: f.write_bytes(b"")]
    for number, damage in enumerate(damages):
        run = Path(shutil.copytree(runs / "stopped", tmp_path / str(number)))
        damage(run / name)
        with pytest.raises(MemecError, match=f"{name} is not the file this run wrote") as error:
            go_on(run)
        assert one_sentence(error)


def test_rows_written_after_the_last_checkpoint_are_cut_off_even_half_a_row(runs: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(runs / "stopped", tmp_path / "run"))
    for name in ("episodes.csv", "evaluations.csv"):
        with (run / name).open("a") as file:
            file.write("250,17.0,17\n251,")
    go_on(run)
    compare(runs / "whole", run)


def test_a_run_json_of_another_run_is_refused(runs: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(runs / "stopped", tmp_path / "run"))
    shutil.copy(runs / "whole" / "run.json", run / "run.json")
    with pytest.raises(MemecError, match="belongs to another run") as error:
        go_on(run)
    assert one_sentence(error)


def test_a_flipped_bit_in_run_json_never_changes_a_run(memec: Memec) -> None:
    common = ("train", "CartPole-v1", "--evaluate-every", 0, "--set", "memory.capacity=40")
    assert memec(*common, "--steps", 60, "--out", "whole").status == 0
    assert memec(*common, "--steps", 40, "--out", "half").status == 0
    assert memec("train", "--resume", "half", "--steps", 60).status == 0
    finished = json.loads(Path("half/run.json").read_text())
    Path("half/run.json").write_text(json.dumps(finished | {"status": "running"}))
    content = Path("half/run.json").read_bytes()
    settings = content.index(b'"settings"')
    for place in [*range(0, settings, 41), *range(settings, len(content), 19)]:
        shutil.rmtree("run", ignore_errors=True)
        shutil.copytree("half", "run")
        Path("run/run.json").write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        result = memec("train", "--resume", "run")
        assert "Traceback" not in result.error
        if result.status == 0:
            compare(Path("whole"), Path("run"))
        else:
            assert result.status == 2 and result.error.count("\n") == 1, (place, result)


def test_the_command_line_warns_in_one_plain_line(memec: Memec) -> None:
    common = ("train", "CartPole-v1", "--steps", 90, "--evaluate-every", 0, "--out", "run")
    assert memec(*common, "--set", "checkpoint.every_steps=30").status == 0
    flip(checkpoints(Path("run"))[-1])
    result = memec("evaluate", "run", "--episodes", 1)
    assert result.status == 0
    assert result.error.startswith("memec: ") and result.error.count("\n") == 1 and ".py" not in result.error
    resumed = memec("train", "--resume", "run", "--steps", 120)
    assert resumed.status == 0 and "Going on from the checkpoint before" in resumed.error
    assert ".py" not in resumed.error
