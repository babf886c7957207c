"""``python -m excise``: the command line."""

from excise.cli.app import main

if __name__ == "__main__":
    main()
