"""An episode as a film, with the score and the chosen action below the picture."""

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from memec.errors import MemecError, from_extra, unknown_name
from memec.train.files import whole_file
from memec.train.seeds import Seeds
from memec.watch.episode import Picture, Seen, play
from memec.watch.names import action_names
from memec.watch.trained import drawn_world, load_trained

SMALLEST_WIDTH = 420
CAPTION_HEIGHT = 44
LAST_PICTURE_SECONDS = 1.5
DEFAULT_FRAMES_PER_SECOND = 15

# One palette for the whole film: a GIF has 256 colours.
GIF_COLOURS = "split[film][all];[all]palettegen=stats_mode=full[colours];[film][colours]paletteuse=dither=none"
ENCODERS: dict[str, dict[str, Any]] = {
    ".mp4": {"codec": "libx264", "quality": 7, "output_params": ["-f", "mp4", "-movflags", "+faststart"]},
    ".gif": {
        "codec": "gif",
        "quality": None,
        "pix_fmt_out": "pal8",
        "output_params": ["-filter_complex", GIF_COLOURS, "-f", "gif"],
    },
}


def record_video(
    run: Path, file: Path, *, env: str | None = None, seed: int | None = None, embed: str | None = None
) -> Path:
    """Film the first greedy episode that `memec evaluate` plays with this seed."""
    encoder = ENCODERS.get(file.suffix.lower())
    if encoder is None:
        raise unknown_name("kind of video", file.suffix or file.name, ENCODERS)
    trained = load_trained(run, env, {"embed": embed})
    world = drawn_world(trained.settings)
    names = action_names(world)
    rate = float(world.environment.metadata.get("render_fps") or DEFAULT_FRAMES_PER_SECOND)
    seeds = Seeds(trained.settings.seed if seed is None else seed)
    most_steps = trained.settings.training.evaluation_episode_steps
    moments = play(trained.agent, world, seeds, exploring=False, most_steps=most_steps)
    pictures = (_captioned(seen, step, names) for step, seen in enumerate(moments))
    with closing(world):
        try:
            _write(file, pictures, rate, encoder)
        except OSError as error:
            raise MemecError(f"The video {file} cannot be written: {error.strerror or error}.") from None
    return file


def _write(file: Path, pictures: Iterator[Picture], rate: float, encoder: dict[str, Any]) -> None:
    with from_extra("watch", "A video"):
        from imageio_ffmpeg import write_frames
    first = next(pictures)
    height, width = first.shape[:2]
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as whole:
        film = write_frames(
            whole.name, (width, height), fps=rate, macro_block_size=2, ffmpeg_log_level="error", **encoder
        )
        with closing(film):
            film.send(None)
            last = first
            for last in chain([first], pictures):
                film.send(np.ascontiguousarray(last))
            for _ in range(round(LAST_PICTURE_SECONDS * rate)):
                film.send(np.ascontiguousarray(last))


def _captioned(seen: Seen, step: int, names: list[str]) -> Picture:
    """Draw the picture at a readable size, and below it what happens."""
    with from_extra("watch", "A video"):
        import cv2  # a third of a second to import

    if seen.picture is None:
        raise MemecError("This environment cannot be filmed: it draws no rgb_array.")
    picture = seen.picture if seen.picture.ndim == 3 else np.repeat(seen.picture[..., None], 3, axis=2)
    times = max(1, -(-SMALLEST_WIDTH // picture.shape[1]))  # whole times, so that pixels stay sharp
    picture = picture.repeat(times, axis=0).repeat(times, axis=1)
    width = picture.shape[1] + picture.shape[1] % 2
    height = picture.shape[0] + CAPTION_HEIGHT + picture.shape[0] % 2
    canvas = np.full((height, width, 3), 24, np.uint8)
    canvas[: picture.shape[0], : picture.shape[1]] = picture
    doing = seen.ending if seen.action is None else names[seen.action]
    for text, left, colour in (
        (f"score {seen.score:g}", 12, (240, 240, 240)),
        (f"step {step}", width // 2 - 40, (160, 166, 176)),
        (doing, width - 12, (120, 190, 255)),
    ):
        size, weight = 0.5, 1
        if left > width // 2:
            left -= cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, weight)[0][0]
        at = (left, height - CAPTION_HEIGHT // 2 + 5)
        cv2.putText(canvas, text, at, cv2.FONT_HERSHEY_SIMPLEX, size, colour, weight, cv2.LINE_AA)
    return canvas
