"""Atari games by the protocol of DQN (Mnih et al., 2015), straight on the emulator."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from memec.envs.screen import SmallScreen
from memec.errors import MemecError, from_extra, unknown_name

with from_extra("atari", "An Atari game"):
    import ale_py
    from ale_py import roms

FRAMES_PER_STEP = 4
STACKED_FRAMES = 4
FRAME_SIZE = 84
FRAME_LIMIT = 108_000
"""Half an hour of play at 60 frames a second."""

MOST_NO_OPS = 30
NO_OP = 0

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


class Atari(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """One Atari game as DQN plays it.

    An action is repeated for four frames; the pixelwise maximum of the last two, in grey and reduced to 84x84, joins a
    stack of four (oldest first). As in DQN the stack holds zeros before an episode's first frame. A new game begins
    with 1 to 30 frames of doing nothing. There is no automatic FIRE: games that wait for it list it as an action.

    With `life_loss_ends_episode` a lost life terminates the episode with `info["game_over"]` False, and the next
    `reset` continues the game: with one frame of no-op unless `no_op_after_life_loss` is False, and with a stack of
    zeros before the newest frame unless `empty_stack_after_life_loss` is False. A `reset` with a seed, with
    `options={"new_game": True}`, or at any other moment begins a new game; the same seed and actions give the same
    game, whatever was played before.
    `sticky_actions` is the probability, at each frame, that the emulator sees the previous action once more
    (Machado et al., 2018). Rewards are the game's own, unclipped.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012  (Gymnasium's own declaration)

    def __init__(
        self,
        id: str,
        *,
        life_loss_ends_episode: bool = False,
        no_op_after_life_loss: bool = True,
        empty_stack_after_life_loss: bool = True,
        sticky_actions: float = 0.0,
        most_no_ops: int = MOST_NO_OPS,
        frame_limit: int = FRAME_LIMIT,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise MemecError(f"An Atari game cannot be rendered as {render_mode!r}: choose rgb_array.")
        if not 0 <= sticky_actions < 1:
            raise MemecError(f"Sticky actions are a probability below 1, not {sticky_actions}.")
        if most_no_ops < 1:
            raise MemecError(f"A game begins with at least one frame of no-op, not with {most_no_ops}.")
        self.id = id
        self.life_loss_ends_episode = life_loss_ends_episode
        self.no_op_after_life_loss = no_op_after_life_loss
        self.empty_stack_after_life_loss = empty_stack_after_life_loss
        self.sticky_actions = sticky_actions
        self.most_no_ops = most_no_ops
        self.frame_limit = frame_limit
        self.render_mode = render_mode

        self._emulator = ale_py.ALEInterface()
        # The emulator draws its sticky actions from a generator that only loading the game anew (110 ms) can seed:
        # ours are drawn from this environment's own generator instead.
        self._emulator.setFloat("repeat_action_probability", 0.0)
        self._emulator.setInt("random_seed", 1)
        self._emulator.loadROM(rom_path(id))
        self._emulator.reset_game()
        self._emulator.act(NO_OP)
        self._screen = SmallScreen(self._emulator, FRAME_SIZE)
        self._stack = np.zeros((STACKED_FRAMES, FRAME_SIZE, FRAME_SIZE), dtype=np.uint8)
        self._first_state = self._emulator.cloneState(include_rng=True)
        self._first_frame = np.empty((FRAME_SIZE, FRAME_SIZE), np.uint8)
        self._screen.shrink(self._first_frame)
        self._actions = [action.value for action in self._emulator.getMinimalActionSet()]
        self._lives = 0
        self._life_lost = False
        self._previous_action = NO_OP

        self.action_space = Discrete(len(self._actions))
        self.observation_space = Box(0, 255, shape=self._stack.shape, dtype=np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begin a new game, or after a lost life continue the one being played."""
        super().reset(seed=seed)
        new_game = seed is not None or bool(options and options.get("new_game")) or not self._life_lost
        if not new_game:
            self._go_on_after_life_loss()
        if new_game or self._emulator.game_over():
            self._begin_game()
        self._life_lost = False
        self._lives = self._emulator.lives()
        return self._stack.copy(), self._info(game_over=False)

    def step(self, action: int | np.integer[Any]) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Repeat an action for four frames."""
        if not 0 <= action < len(self._actions):
            raise MemecError(f"{self.id} has the actions 0 to {len(self._actions) - 1}, not {action}.")
        emulator = self._emulator
        button = self._actions[action]
        # Only the last two screens count. A game that ends in the first two frames shows its last screen alone.
        reward = self._act(button)
        if not emulator.game_over():
            reward += self._act(button)
        if not emulator.game_over():
            reward += self._act(button)
        self._screen.take(0)
        if not emulator.game_over():
            reward += self._act(button)
        self._screen.take(1)
        self._stack[:-1] = self._stack[1:]
        self._screen.shrink(self._stack[-1])

        game_over = emulator.game_over()
        truncated = not game_over and emulator.getEpisodeFrameNumber() >= self.frame_limit
        lives = emulator.lives()
        # Q*bert shows no lives for some frames before its game is over: that is the end of the game, not one more life.
        life_lost = self.life_loss_ends_episode and 0 < lives < self._lives and not game_over
        self._lives = lives
        self._life_lost = life_lost and not truncated
        info = self._info(game_over=game_over or truncated)
        return self._stack.copy(), float(reward), game_over or life_lost, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """Give the emulator's colour screen."""
        if self.render_mode is None:
            return None
        screen: NDArray[np.uint8] = self._emulator.getScreenRGB()
        return screen

    def get_action_meanings(self) -> list[str]:
        """Return what each action presses, in the emulator's words."""
        return [ale_py.Action(button).name for button in self._actions]

    def ram(self) -> NDArray[np.uint8]:
        """Give the console's 128 bytes of memory, which tell one state of a game from another."""
        memory: NDArray[np.uint8] = self._emulator.getRAM()
        return memory

    def _go_on_after_life_loss(self) -> None:
        if self.no_op_after_life_loss:
            self._act(NO_OP)
            self._stack[:-1] = self._stack[1:]
            self._show_one_screen()
        if self.empty_stack_after_life_loss:
            self._stack[:-1] = 0

    def _begin_game(self) -> None:
        # Not the emulator's own reset: in some games (Assault, Beam Rider, Berzerk) the last game shines through it.
        self._set_back(self._first_state)
        self._stack[:-1] = 0
        self._stack[-1] = self._first_frame
        self._previous_action = NO_OP
        # The first state already has one no-op behind it.
        further_no_ops = int(self.np_random.integers(self.most_no_ops))
        for _ in range(further_no_ops):
            self._emulator.act(NO_OP)
        if further_no_ops:
            self._show_one_screen()

    def _set_back(self, state: ale_py.ALEState) -> None:
        """Set the emulator, but not its screen, to a state taken after at least one frame."""
        self._emulator.reset_game()
        # Q*bert goes astray when its state is restored, or was taken, before the first frame was emulated.
        self._emulator.act(NO_OP)
        self._emulator.restoreState(state)

    def _act(self, button: int) -> int:
        if self.sticky_actions and self.np_random.random() < self.sticky_actions:
            button = self._previous_action
        self._previous_action = button
        reward: int = self._emulator.act(button)
        return reward

    def _show_one_screen(self) -> None:
        for which in (0, 1):
            self._screen.take(which)
        self._screen.shrink(self._stack[-1])

    def _info(self, *, game_over: bool) -> dict[str, Any]:
        return {"lives": self._lives, "frame": self._emulator.getEpisodeFrameNumber(), "game_over": game_over}


def rom_path(id: str) -> Path:
    """Where the game behind an id such as `ALE/MsPacman-v5` lies."""
    spec = gymnasium.registry.get(id)
    path = roms.get_rom_path(spec.kwargs["game"]) if spec is not None and id.startswith("ALE/") else None
    if path is None:
        raise unknown_name("Atari game", id, [known for known in gymnasium.registry if known.startswith("ALE/")])
    return path
