"""`python -m memec.cli`, as `python -m memec`, is the command line."""

from memec.cli import main

main()
