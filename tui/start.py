"""The first steps: the agent is started before anything slow is imported, and no traceback reaches a user.

Exit statuses: 0 fine, 1 partial data, 2 usage or nothing to work with, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

EXIT_FINE = 0
EXIT_PARTIAL = 1
EXIT_NOTHING = 2
EXIT_INTERRUPTED = 130


def start(argv: Sequence[str]) -> int:
    """Run the command line and return its exit status. Never raises but `SystemExit` from the interpreter itself."""
    from tui.commands.early import EarlyAgent
    from tui.commands.wish import told

    argv = tuple(argv)
    early = EarlyAgent()
    try:
        if argv[:1] == ("agent",) and (wished := told(argv[1:])) is not None:
            from tui.commands.being_agent import be_agent

            return be_agent(*wished)
        early.look(argv)
        from tui.commands.run import run

        return run(argv, early)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        from tui.outputs.paint import close_quietly

        close_quietly()
        return EXIT_FINE
    except Exception as error:
        from tui.terminal.crash_note import write_crash_note

        return _fell(argv, write_crash_note(error, argv[0] if argv and argv[0].isalpha() else ""))
    finally:
        early.end()


def _fell(argv: Sequence[str], sentence: str) -> int:
    """Say where the note is; `--json` keeps its promise of one object even now, if anything still can."""
    try:
        from tui.commands.run import refuse

        return refuse(argv, sentence)
    except Exception:
        sys.stderr.write(f"traintop: {sentence}\n")
        return EXIT_NOTHING
