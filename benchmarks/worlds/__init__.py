"""The league: one agent with one set of settings beside its peers, in worlds of every kind.

Importing this makes its worlds known to Gymnasium, so that `memec train benchmarks.worlds:NoisyCartPole-v0` finds them.
"""

from benchmarks.worlds.environments import register

register()
