"""What was observed in the newest memories, kept for people to look at."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.frames import are_pixels, newest_in_grey
from memec.memory import Memory, Written
from memec.memory.limits import refuse_if_too_large
from memec.train.files import Arrays
from memec.train.journal import Experience, Journal, Nothing
from memec.train.protocol import Observation

LARGEST_SIDE = 84
"""Pixels of a kept frame in either direction: what an Atari agent sees."""
NONE = -1


class NoPictures(Nothing):
    """No pictures of memories: nobody asked for any."""

    kept = False

    def notice(self, observation: Observation) -> None:
        """Pass over what is seen."""

    def keep(self, written: Written) -> None:
        """Keep nothing."""

    def forget_episode(self) -> None:
        """There is nothing to forget."""

    def of(self, slot: int) -> NDArray[Any] | None:
        """Return nothing."""
        return None


class Pictures:
    """The last `capacity` pictures, each with the slot of the memory it belongs to.

    Of frames the newest is kept, in grey and at most 84x84; any other observation as it is. A ring beside the memory:
    neither acting nor learning ever looks at it.
    """

    kept = True

    def __init__(self, capacity: int, slots: int, shape: tuple[int, ...], dtype: Any) -> None:
        sample = self.picture(np.zeros(shape, dtype))
        needed = capacity * (sample.nbytes + 8) + 8 * slots
        refuse_if_too_large(needed, f"{capacity:,} pictures of memories", "memory.keep_frames")
        self._slots = np.full(capacity, NONE, np.int64)
        self._pictures = np.zeros((capacity, *sample.shape), sample.dtype)
        self._end = 0
        self._episode: list[NDArray[Any]] = []
        self._newest = np.full(slots, NONE, np.int64)  # of each slot, the number of its newest picture

    @staticmethod
    def picture(observation: Observation) -> NDArray[Any]:
        """Return what is kept of an observation."""
        if not are_pixels(observation.shape, observation.dtype):
            return observation
        frame = newest_in_grey(observation)
        stride = -(-max(frame.shape) // LARGEST_SIDE)
        return np.ascontiguousarray(frame[::stride, ::stride], np.uint8)

    def notice(self, observation: Observation) -> None:
        """Take note of what is seen at the next decision of the episode under way."""
        self._episode.append(self.picture(observation))

    def keep(self, written: Written) -> None:
        """Keep what was seen in the first moments of the episode, just written: in the last of each new key."""
        last = {slot: index for index, slot in enumerate(written.slots.tolist())}
        for slot in np.unique(written.slots[written.keyed]).tolist():
            at = self._end % len(self._slots)
            self._slots[at], self._pictures[at] = slot, self._episode[last[slot]]
            self._newest[slot] = self._end
            self._end += 1
        del self._episode[: len(written.slots)]

    def forget_episode(self) -> None:
        """Forget what was seen in the episode under way."""
        self._episode.clear()

    def of(self, slot: int) -> NDArray[Any] | None:
        """Return what was observed in a memory, if it is still kept."""
        number = int(self._newest[slot])
        if number == NONE or number < self._end - len(self._slots):
            return None
        picture: NDArray[Any] = self._pictures[number % len(self._slots)]
        return picture

    def __len__(self) -> int:
        return min(self._end, len(self._slots))

    def journals(self) -> dict[str, Journal]:
        """Return the ring, by name."""
        columns: Arrays = {"slot": self._slots, "picture": self._pictures}
        return {"pictures": Journal(columns, self._end - len(self), self._end, self._end)}

    def position(self) -> Arrays:
        """Return how many pictures there have been, and those of the episode under way."""
        episode = np.array(self._episode, self._pictures.dtype).reshape(-1, *self._pictures.shape[1:])
        return {"pictures_end": np.array([self._end]), "pictures_episode": episode}

    def resume(self, position: Arrays) -> None:
        """Go on from a position, with all rows put back already."""
        episode = position["pictures_episode"]
        if episode.dtype != self._pictures.dtype or episode.shape[1:] != self._pictures.shape[1:]:
            raise MemecError("The saved pictures do not fit: they are of another size.")
        self._episode = list(episode)
        self._end = int(position["pictures_end"][0])
        numbers = np.arange(self._end - len(self), self._end)
        slots = self._slots[numbers % len(self._slots)]
        if len(slots) and not (slots.min() >= 0 and slots.max() < len(self._newest)):
            raise MemecError("The saved pictures do not fit the memory.")
        self._newest[:] = NONE
        self._newest[slots] = numbers  # the newest comes last


def make_pictures(memory: Memory, shape: tuple[int, ...], dtype: Any) -> Pictures | NoPictures:
    """Make room for the pictures that the memory's settings ask for, if any."""
    count = memory.settings.keep_frames
    return Pictures(count, len(memory.returns), shape, dtype) if count else NoPictures()


class Joined:
    """Several experiences as one, told apart by the names of their journals and positions."""

    def __init__(self, *parts: Experience) -> None:
        self._parts = parts

    def journals(self) -> dict[str, Journal]:
        """Return the rows of all parts, by name."""
        return {name: journal for part in self._parts for name, journal in part.journals().items()}

    def position(self) -> Arrays:
        """Return the positions of all parts."""
        return {name: array for part in self._parts for name, array in part.position().items()}

    def resume(self, position: Arrays) -> None:
        """Go on from a position."""
        for part in self._parts:
            part.resume(position)
