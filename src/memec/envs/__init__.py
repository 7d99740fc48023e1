"""The worlds: rooms, Atari, and what makes any Gymnasium environment fit an agent.

Importing this package registers the rooms with Gymnasium; what is heavy (the emulator) waits until needed.
"""

from memec.envs.registration import register

register()
