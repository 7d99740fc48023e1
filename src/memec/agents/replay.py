"""What was experienced, to learn from again: observations, each frame stored once, and what came of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.frames import are_pixels, stack_depth
from memec.memory.limits import refuse_if_too_large
from memec.train.files import Arrays
from memec.train.journal import Journal

Array = NDArray[Any]
Ints = NDArray[np.int64]

NO_FRAME = -1
NO_ACTION = -1


class Observations:
    """The last `capacity` observations, numbered in the order they came; `first` to `end` - 1 are there.

    Of a stack of frames only what is new is stored. Each observation remembers the numbers of its frames, so that what
    comes out is what went in, whatever an environment puts before an episode's first frame. One whose frames are all
    new takes several places, and fewer observations are there then.
    """

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.first = 0
        self.end = 0
        self.capacity = capacity
        self._stacked = are_pixels(shape, dtype) and stack_depth(shape) > 1
        places = capacity + shape[0] - 1 if self._stacked else capacity
        piece = shape[1:] if self._stacked else shape
        needed = places * int(np.prod(piece)) * np.dtype(dtype).itemsize
        refuse_if_too_large(needed, f"A replay of {capacity:,} observations", "replay_capacity")
        self._pieces = np.zeros((places, *piece), dtype)  # committed by the system only as it fills
        self._frames = np.zeros((capacity if self._stacked else 0, shape[0]), np.int64)
        self._frames_end = 0
        self._last: Array | None = None

    def __len__(self) -> int:
        return self.end - self.first

    def append(self, observation: Array) -> None:
        """Add an observation; the oldest makes room."""
        at = self.end % self.capacity
        if self._stacked:
            self._frames[at] = self._file(observation)
        else:
            self._pieces[at] = observation
        self.end += 1
        self.first = max(self.first, self.end - self.capacity)
        if self._stacked:
            self._last = observation
            oldest = self._frames_end - len(self._pieces)
            while self._lost_frames(self.first, oldest):
                self.first += 1

    def take(self, numbers: Ints) -> Array:
        """Return these observations, one per row."""
        if not self._stacked:
            return self._pieces[numbers % self.capacity]
        frames = self._frames[numbers % self.capacity]
        stacks: Array = self._pieces[frames % len(self._pieces)]
        stacks[frames == NO_FRAME] = 0
        return stacks

    def journals(self, columns: Arrays, settled: int) -> dict[str, Journal]:
        """Return the rows of a replay: its own columns, and what was observed; rows from `settled` on may change."""
        if not self._stacked:
            return {"steps": Journal(columns | {"observation": self._pieces}, self.first, settled, self.end)}
        oldest = max(0, self._frames_end - len(self._pieces))
        return {
            "steps": Journal(columns | {"frames": self._frames}, self.first, settled, self.end),
            "frames": Journal({"frame": self._pieces}, oldest, self._frames_end, self._frames_end),
        }

    def position(self) -> Arrays:
        """Return what tells how the rows are to be read."""
        return {"range": np.array([self.first, self.end, self._frames_end])}

    def resume(self, position: Arrays) -> None:
        """Go on from a position, with the rows put back already."""
        first, end, frames_end = (int(number) for number in position["range"])
        if not (0 <= first <= end <= first + self.capacity and frames_end >= 0):
            raise MemecError(f"The saved replay does not fit: it has rows {first:,} to {end:,}.")
        self.first, self.end, self._frames_end = first, end, frames_end
        if self._stacked:
            self._last = self.take(np.array([end - 1]))[0] if end > first else None

    def refuse_others(self, actions: NDArray[np.int16], known: range) -> None:
        """Raise an error unless all actions that belong to these observations are known."""
        there = actions[np.arange(self.first, self.end) % self.capacity]
        if len(there) and not known.start <= there.min() <= there.max() < known.stop:
            raise MemecError("The saved replay does not fit: it has other actions.")

    def _file(self, stack: Array) -> Ints:
        """Store the frames of a stack that are not there yet; return the numbers of all."""
        if self._last is not None and np.array_equal(stack[:-1], self._last[1:]):
            before = self._frames[(self.end - 1) % self.capacity]
            return np.append(before[1:], self._store(stack[-1]))
        numbers = np.full(len(stack), NO_FRAME)
        for i, frame in enumerate(stack):
            if i > 0 and np.array_equal(frame, stack[i - 1]):
                numbers[i] = numbers[i - 1]
            elif frame.any():
                numbers[i] = self._store(frame)
        return numbers

    def _store(self, frame: Array) -> int:
        number = self._frames_end
        self._pieces[number % len(self._pieces)] = frame
        self._frames_end += 1
        return number

    def _lost_frames(self, number: int, oldest: int) -> bool:
        """Whether a frame of this observation has been overwritten."""
        frames = self._frames[number % self.capacity]
        return bool(((frames != NO_FRAME) & (frames < oldest)).any())


class ReturnBatch(NamedTuple):
    """Some states and actions, and the returns that followed."""

    observations: Array
    actions: Ints
    returns: NDArray[np.float64]


class ReturnReplay:
    """NEC's replay of (state, action, return)."""

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: Any, actions: int) -> None:
        self._observations = Observations(capacity, shape, dtype)
        self._known = range(actions)
        self._actions = np.zeros(capacity, np.int16)
        self._returns = np.zeros(capacity, np.float64)

    def __len__(self) -> int:
        return len(self._observations)

    def append(self, observation: Array, action: int, value: float) -> None:
        """Add what followed an action."""
        at = self._observations.end % self._observations.capacity
        self._actions[at] = action
        self._returns[at] = value
        self._observations.append(observation)

    def sample(self, count: int, generator: np.random.Generator) -> ReturnBatch:
        """Draw uniformly, with repetition."""
        numbers = generator.integers(self._observations.first, self._observations.end, count)
        at = numbers % self._observations.capacity
        return ReturnBatch(self._observations.take(numbers), self._actions[at].astype(np.int64), self._returns[at])

    def journals(self) -> dict[str, Journal]:
        """Return the rows; one that was added never changes."""
        return self._observations.journals({"action": self._actions, "return": self._returns}, self._observations.end)

    def position(self) -> Arrays:
        """Return what tells how the rows are to be read."""
        return self._observations.position()

    def resume(self, position: Arrays) -> None:
        """Go on from a position, with the rows put back already."""
        self._observations.resume(position)
        self._observations.refuse_others(self._actions, self._known)


class TransitionBatch(NamedTuple):
    """Some transitions."""

    observations: Array
    actions: Ints
    rewards: NDArray[np.float32]
    next_observations: Array
    """Of any content where the episode terminated."""
    terminated: NDArray[np.bool_]


class TransitionReplay:
    """D3QN's replay of (state, action, reward, next state); the next state is the observation stored next.

    An observation without an action ends an episode that was cut off: it is a next state, and no state to learn about.
    """

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: Any, actions: int) -> None:
        self._observations = Observations(capacity, shape, dtype)
        self._known = range(NO_ACTION, actions)
        self._count = 0
        self._actions = np.zeros(capacity, np.int16)
        self._rewards = np.zeros(capacity, np.float32)
        self._terminated = np.zeros(capacity, np.bool_)

    def __len__(self) -> int:
        """How many observations with an action have one after them."""
        return self._count

    def begin(self, observation: Array, action: int) -> None:
        """Add a state and the action taken there."""
        ring = self._observations
        first, at = ring.first, ring.end % ring.capacity
        self._count += self._acted(ring.end - 1, ring.end) if len(ring) else 0
        overwritten = self._actions[at]
        self._actions[at] = action
        self._terminated[at] = False
        ring.append(observation)
        if ring.first > first:  # what made room is not there any more
            whole = ring.end - 1 - ring.capacity >= first
            self._count -= self._acted(first + whole, ring.first) + int(whole and overwritten != NO_ACTION)

    def complete(self, reward: float, terminated: bool) -> None:
        """Add what the last action led to."""
        at = (self._observations.end - 1) % self._observations.capacity
        self._rewards[at] = reward
        self._terminated[at] = terminated

    def cut_off(self, observation: Array) -> None:
        """Add the last state of an episode that does not go on, though it did not terminate."""
        self.begin(observation, NO_ACTION)

    def abandon(self) -> None:
        """Forget the last action, whose next state never came."""
        if len(self._observations):
            at = (self._observations.end - 1) % self._observations.capacity
            if not self._terminated[at]:
                self._actions[at] = NO_ACTION

    def newest(self) -> Array | None:
        """Return the last observation, if there is one."""
        ring = self._observations
        return ring.take(np.array([ring.end - 1]))[0] if len(ring) else None

    def sample(self, count: int, generator: np.random.Generator) -> TransitionBatch:
        """Draw uniformly, with repetition; there must be something."""
        ring = self._observations
        numbers = generator.integers(ring.first, ring.end - 1, count)
        while (without := self._actions[numbers % ring.capacity] == NO_ACTION).any():
            numbers[without] = generator.integers(ring.first, ring.end - 1, np.count_nonzero(without))
        at = numbers % ring.capacity
        return TransitionBatch(
            ring.take(numbers),
            self._actions[at].astype(np.int64),
            self._rewards[at],
            ring.take(numbers + 1),
            self._terminated[at],
        )

    def journals(self) -> dict[str, Journal]:
        """Return the rows; the last may change until another is added."""
        columns: Arrays = {"action": self._actions, "reward": self._rewards, "terminated": self._terminated}
        ring = self._observations
        return ring.journals(columns, max(ring.first, ring.end - 1))

    def position(self) -> Arrays:
        """Return what tells how the rows are to be read."""
        return self._observations.position()

    def resume(self, position: Arrays) -> None:
        """Go on from a position, with the rows put back already."""
        self._observations.resume(position)
        self._observations.refuse_others(self._actions, self._known)
        self._count = self._acted(self._observations.first, self._observations.end - 1)

    def _acted(self, start: int, stop: int) -> int:
        """Return how many of these observations have an action."""
        return int(np.count_nonzero(self._actions[np.arange(start, stop) % self._observations.capacity] != NO_ACTION))
