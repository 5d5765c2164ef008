"""`frontguard serve`: the studies of a storage as a live page."""

from __future__ import annotations

from signal import SIGINT
from typing import Annotated

import typer

from frontguard.cli import INTERRUPTED
from frontguard.cli.options import command, flag, option, text, texts
from frontguard.cli.screen import print_json, say, stopped_by
from frontguard.errors import BadInput

PORT = 8730


@command(
    host=text("HOST", "Address; others need a token", value="127.0.0.1"),
    port=option(int, "PORT", "Port to listen at; 0 picks a free one", value=PORT),
    study=texts("NAME", "Show only this study; repeat for several"),
    allow_host=texts("HOST", "Further NAME or NAME:PORT of this server; repeat"),
    baseline=text("ARM", "Compare arms with this one on their pages"),
    open=flag("--open", "Open the page in a browser"),
    json=flag("--json", "Print the URL and the token as JSON"),
)
def serve(
    storage: Annotated[
        str,
        typer.Argument(
            metavar="STORAGE",
            help="A study file, or postgresql://…; it is opened read-only, and may be begun later.",
            show_default=False,
        ),
    ],
    *,
    host: str,
    port: int,
    study: list[str] | None,
    allow_host: list[str] | None,
    baseline: str | None,
    open: bool,
    json: bool,
) -> None:
    """Show the studies of a storage on a live page.

    It has the front, verdicts, pulls, the forecast, failures and each arm. It keeps itself up to date and never
    changes anything. Ctrl-C ends it, with exit code 130.
    """
    try:
        from frontguard.web.app import LiveServer, bind
        from frontguard.web.watchers import NotBegun, StorageSource, Watchers
    except ModuleNotFoundError as error:
        raise BadInput(
            f'the live page needs {error.name}, which is not installed: pip install "frontguard[web]"'
        ) from None
    from frontguard._common.secrets import without_password

    only, allowed = study or [], allow_host or []
    where = without_password(storage)
    source = StorageSource(storage)
    notes = []
    try:
        names = source.get().studies()  # what can never be shown is said now
        missing = [name for name in only if name not in names]
        notes += [f"there is no study {name!r} yet; the page shows it as soon as it is begun" for name in missing]
    except NotBegun:
        notes.append(f"{where} holds no study yet; the page shows it as soon as one is begun")
    except OSError as error:
        raise BadInput(f"{where} cannot be read: {error}") from None
    bound = bind(host, port, allowed)
    if bound.others_reach_it:
        notes.append("without encryption: whoever can read this network's traffic can read the page and the token")
        if bound.rules.by_address and not allowed:
            notes.append("by address only; if people use a name for this machine, give it with --allow-host NAME")
    if json:
        print_json({"url": bound.url, "token": bound.rules.token}.items())
    say(f"{where} is shown at {bound.url} (Ctrl-C ends it)")
    for note in notes:
        say(note)
    if open:
        import webbrowser

        webbrowser.open(bound.url)
    server = LiveServer(bound, Watchers(source, only), baseline=baseline)
    received = []

    def stop(number: int) -> None:
        received.append(number)
        server.stop()

    with stopped_by(stop):
        server.run()
    if SIGINT in received:
        raise typer.Exit(INTERRUPTED)
