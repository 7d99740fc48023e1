"""`python -m memec` is the command line."""

from memec.cli import main

if __name__ == "__main__":
    main()
