"""The whole memory at a glance: what a room is worth cell by cell, or the keys laid out flat."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.agents import Agent
from memec.agents.memories import Remembering
from memec.envs.rooms import Room
from memec.envs.state_id import state_id

MOST_POINTS = 3_000
"""More points than this make a browser slow and a map no clearer."""
FARTHEST = 3.0
"""Standard deviations beyond which a key no longer pulls the map its way."""


def room_map(agent: Agent, room: Room) -> dict[str, Any]:
    """Return every free cell's value for each action, whether it is known there, and the best actions."""
    cells = []
    for y, row in enumerate(room.walls):
        for x, mark in enumerate(row):
            if mark != ".":
                continue
            observation = np.array([x, y], np.float32)
            belief, memories, _ = agent.think(observation, state_id(observation))
            values = belief.mean
            cells.append(
                {
                    "x": x,
                    "y": y,
                    "values": values.tolist(),
                    "known": [one.exact for one in memories],
                    "best": np.flatnonzero(values == values.max()).tolist(),
                }
            )
    return {"kind": "room", "width": len(room.walls[0]), "height": len(room.walls), "cells": cells}


class Plane:
    """The two directions in which the keys of a memory differ the most (principal components)."""

    def __init__(self, memory: Remembering) -> None:
        used = memory.used()
        chosen = np.random.default_rng(0).permutation(used)[:MOST_POINTS]
        self._memory = memory
        self._slots = np.sort(chosen)
        keys = memory.keys[self._slots].astype(np.float64)
        self._centre = keys.mean(axis=0) if len(keys) else np.zeros(memory.key_size)
        spread = keys.std(axis=0) if len(keys) else np.ones(memory.key_size)
        self._scale = np.where(spread > 0.0, spread, 1.0)  # units differ from number to number
        scaled = np.clip((keys - self._centre) / self._scale, -FARTHEST, FARTHEST)
        variances, directions = np.linalg.eigh(scaled.T @ scaled)  # ascending
        self._directions = np.zeros((2, memory.key_size))
        self._directions[: min(2, memory.key_size)] = directions.T[::-1][:2]
        total = float(variances.sum())
        self._explained = float(variances[-2:].sum()) / total if total > 0.0 else 0.0

    def place(self, keys: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return where keys [n, key size] lie in the plane."""
        placed: NDArray[np.float64] = (keys - self._centre) / self._scale @ self._directions.T
        return placed

    def points(self) -> dict[str, Any]:
        """Return a sample of the memories: where they lie, the action, the return and when they were stored."""
        memory, slots = self._memory, self._slots
        places = self.place(memory.keys[slots])
        return {
            "kind": "points",
            "x": places[:, 0].round(4).tolist(),
            "y": places[:, 1].round(4).tolist(),
            "returns": memory.returns[slots].tolist(),
            "action_of": (slots // memory.settings.capacity).tolist(),
            "steps": memory.steps[slots].tolist(),
            "explained": self._explained,
            "entries": len(memory),
        }
