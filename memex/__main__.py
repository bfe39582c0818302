"""Where the command begins: from its first line on Ctrl-C ends it without a trace."""

import signal


def main() -> None:
    """Runs the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # loading takes long enough for people to change their minds
    from memex.commands import main as run  # noqa: PLC0415

    run()


if __name__ == "__main__":
    main()
