"""Videos: an episode as a film that plays."""

import re
import subprocess
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest

from memec.errors import MemecError
from memec.experiments.run import evaluate_run
from memec.watch.video import LAST_PICTURE_SECONDS, record_video


def frames_of(file: Path) -> tuple[str, int, np.ndarray]:
    program = imageio_ffmpeg.get_ffmpeg_exe()
    about = subprocess.run([program, "-hide_banner", "-i", file], capture_output=True, text=True, check=False).stderr
    found = re.search(r"Video: (\w+).* (\d+)x(\d+).* (\d+) fps", about)
    assert found is not None, about
    codec, *numbers = found.groups()
    width, height, rate = map(int, numbers)
    command = [
        program,
        "-v",
        "error",
        "-i",
        file,
        "-fps_mode",
        "passthrough",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-",
    ]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return codec, rate, np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_film_of_fourroom_plays_and_shows_the_episode_that_evaluation_plays(
    room_run: Path, tmp_path: Path, suffix: str
) -> None:
    file = record_video(room_run, tmp_path / f"room{suffix}")
    _, rate, frames = frames_of(file)
    steps = int(evaluate_run(room_run, 1).mean_length)
    assert rate == 10
    assert len(frames) == steps + 1 + round(LAST_PICTURE_SECONDS * 10)
    assert (frames[0] != frames[-1]).mean() > 0.001
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]


def test_a_film_of_pong_plays(pong_runs: dict[bool, Path], tmp_path: Path) -> None:
    codec, rate, frames = frames_of(record_video(pong_runs[False], tmp_path / "pong.mp4"))
    assert codec == "h264" and rate == 15
    assert len(frames) == 61 + round(LAST_PICTURE_SECONDS * 15)
    assert frames[0].std() > 10


def test_a_name_that_is_no_video_is_refused_before_anything_is_played(room_run: Path, tmp_path: Path) -> None:
    with pytest.raises(MemecError, match="gif"):
        record_video(room_run, tmp_path / "room.git")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_said_so(room_run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MemecError, match="cannot be written"):
        record_video(room_run, tmp_path / "file" / "room.mp4")
