"""Passwords in addresses, values in texts, and specs, masked."""

from __future__ import annotations

import random
import string
import time
import tomllib
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontguard._common.secrets import MASK, fingerprint, hidden, without_password, without_passwords
from frontguard.commands.format import masked_spec

S = "5ecret"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"postgresql://ann:{S}@host/db", "postgresql://ann:***@host/db"),
        (f"postgres://ann:{S}@host:5432/db?sslmode=require", "postgres://ann:***@host:5432/db?sslmode=require"),
        (f"postgresql://:{S}@host/db", "postgresql://:***@host/db"),
        ("postgresql://ann:3762813250671186@host/db", "postgresql://ann:***@host/db"),
        ("postgresql://ann:5432@host:5432/db", "postgresql://ann:***@host:5432/db"),
        ("POSTGRES://ann:123/4@host/db", "POSTGRES://ann:***@host/db"),
        ("tcp://ann:1234@host:8786", "tcp://ann:***@host:8786"),
        (f"https://ann:{S}@host:8443/x", "https://***@host:8443/x"),
        (f"fatal: https://ann:{S}@host:8443/x?a=1, refused", "fatal: https://***@host:8443/x?a=1, refused"),
        (f"https://{S}@host/x", "https://***@host/x"),
        (f"git+https://{S}:x-oauth-basic@host/x", "git+https://***@host/x"),
        (f"//ann:{S}@host/x", "//***@host/x"),
        ("//host:8080/a@b", "//host:8080/a@b"),
        ("//host/a@b", "//host/a@b"),
        ("https://host/@scope/package", "https://host/@scope/package"),
        ("// written by: ann@host", "// written by: ann@host"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("see http://host:8080/studies/a@b", "see http://host:8080/studies/a@b"),
        ("http://host:8080/studies/a@b", "http://host:8080/studies/a@b"),
        (f"postgresql://ann:%35{S}%40@host/db", "postgresql://ann:***@host/db"),
        (f"postgresql://ann:a@{S}@host/db", "postgresql://ann:***@host/db"),
        (f"postgresql://ann:a/{S}@host/db", "postgresql://ann:***@host/db"),
        (f"postgresql://ann:a?{S}@host/db", "postgresql://ann:***@host/db"),
        (f"postgresql://ann:a b'{S}@host/db", "postgresql://ann:***@host/db"),
        (f"postgresql://ann:x@a?{S}@host/db", "postgresql://ann:***@host/db"),
        (f"postgresql://host/db?password={S}&user=a", "postgresql://host/db?password=***&user=a"),
        (f"postgresql://host/db?user=a&sslpassword={S}", "postgresql://host/db?user=a&sslpassword=***"),
        (f"postgresql://host/db?%70assword={S}%20x", "postgresql://host/db?%70assword=***"),
        (f"postgresql://host/db?PASSWORD={S}", "postgresql://host/db?PASSWORD=***"),
        (f"host=h password={S} user=a", "host=h password=*** user=a"),
        (f"host=h password = 'a \\'{S}' user=a", "host=h password = *** user=a"),
        (f"sslpassword='{S}'", "sslpassword=***"),
        (f"--storage=postgresql://ann:{S}@host/db", "--storage=postgresql://ann:***@host/db"),
        (f"could not reach postgresql://ann:{S}@host/db: away", "could not reach postgresql://ann:***@host/db: away"),
        (f'connection to "postgresql://a:{S}@h" failed', 'connection to "postgresql://a:***@h" failed'),
        ("postgresql://host:5432/db?user=a@b", "postgresql://host:5432/db?user=a@b"),
        ("postgresql://ann@host/db", "postgresql://ann@host/db"),
        ("postgresql:///db?service=x", "postgresql:///db?service=x"),
        ("study.db", "study.db"),
        ("sqlite:////home/a@b/study.db", "sqlite:////home/a@b/study.db"),
        ("a folder/with:colons@and more.db", "a folder/with:colons@and more.db"),
    ],
)
def test_addresses(address: str, shown: str) -> None:
    assert without_password(address) == shown
    assert without_password(shown) == shown


BEFORE = [
    *(f"{scheme}//ann:" for scheme in ("postgresql:", "https:", "tcp:", "tls:", "ssh+git:", "amqp:", "")),
    *("https://", "git+http://", "HTTPS://", "//", "//:"),
]
IN_TEXTS = ["{}", "fatal: {} refused", "curl '{}'", '"{}"', "({})", "x={};", "{}\n{}"]
ALLOWED = string.ascii_letters + string.digits + "%~!$&'()*+;=:.,_-"  # in a password, by RFC 3986


def test_no_password_of_an_address_is_left_in_a_text() -> None:
    """Leaks are rare, and a text takes microseconds: so many, and not by hypothesis, which takes milliseconds each."""
    rng = random.Random(0)

    def word() -> str:
        return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(1, 8)))

    for _ in range(2000):
        host, path = word(), [rng.choice([word(), "a@b"]) for _ in range(rng.randint(0, 3))]
        password = rng.choice("Q123456789") + "".join(rng.choices(ALLOWED, k=rng.randint(6, 20)))
        port = rng.choice(["", f":{rng.randint(1, 65535)}"])
        address = f"{rng.choice(BEFORE)}{password}@{host}{port}{''.join(f'/{each}' for each in path)}"
        text = rng.choice(IN_TEXTS).format(address, address)
        for shown in (without_password(text), without_passwords(text), hidden(text, [])):
            assert password not in shown, text
            assert host in shown or "a@b" in path, text


@given(st.text(max_size=12) | st.from_regex("[0-9]{1,6}[/?,@:0-9]{0,3}"))
def test_a_password_of_any_characters_is_masked(password: str) -> None:
    for written in (password, quote(password, safe="")):
        assert without_password(f"postgresql://ann:{written}@host/db") == "postgresql://ann:***@host/db"


def test_values_in_texts() -> None:
    assert hidden("a hunter2 b", ["hunter2"]) == "a *** b"
    assert hidden("hunter22 and hunter2", ["hunter2", "hunter22"]) == "*** and ***"
    assert hidden("exit code 1", ["1", "on", "abc"]) == "exit code 1"
    assert hidden('got "a\\"b\\\\c"', ['a"b\\c']) == 'got "***"'
    assert hidden("GET /?t=a%2Fb%2Bc", ["a/b+c"]) == "GET /?t=***"
    assert hidden("line MIIEabcdefgh", ["-----\nMIIEabcdefgh\n---"]) == "line ***"
    assert hidden("it was hunt…", ["hunter2"]) == "it was ***…"
    assert hidden("it was hun…", ["hunter2"]) == "it was hun…"


def test_a_fingerprint_is_slow_salted_and_short() -> None:
    began = time.perf_counter()
    one = fingerprint({"a": {"T": "x"}}, "salt")
    assert time.perf_counter() - began > 0.02
    assert len(bytes.fromhex(one)) == 2
    assert one == fingerprint({"a": {"T": "x"}}, "salt")
    assert len({one, fingerprint({"a": {"T": "x"}}, "other"), fingerprint({"a": {"T": "y"}}, "salt")}) == 3


# Specs ----------------------------------------------------------------------------------------------------------------

WRITTEN = [  # ways to write the same secret, in a table that is open
    f'env = {{TOKEN = "{S}"}}',
    f"env.TOKEN = '{S}'",
    f'env . "TOKEN" = """\n{S}"""',
    f"'env'.TOKEN = '''{S}'''",
    'env = {A = "x # y ] }", TOKEN = "\\u0035ecret", "b.c" = 3}',
    f"env = {{ TOKEN='{S}' , B = true }}  # {S}",
]
AROUND = [
    'command = ["a", # [ {\n "b = \\"c\\"", \'\'\'x\n]]\'\'\', """{\n"""\n]',
    'cwd = "env.TOKEN = 5"',
    'timeout = 3.5 # a comment = "5"',
    "before = \"a='b'\"",
    "shell=true",
]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(WRITTEN),
    st.lists(st.sampled_from(AROUND), unique=True),
    st.lists(st.sampled_from(AROUND), unique=True),
    st.sampled_from(["[run]", "[ run ]", "[[arm]]", '[["arm"]]']),
)
def test_a_spec_is_masked_however_it_is_written(written: str, before: list[str], after: list[str], table: str) -> None:
    after = [line for line in after if line not in before]
    text = "\n".join(["[study]", f'storage = "postgresql://a:{S}@h/db"', table, *before, written, *after, ""])
    masked = masked_spec(text)
    assert S not in masked
    data, shown = tomllib.loads(text), tomllib.loads(masked)
    data["study"]["storage"] = "postgresql://a:***@h/db"
    arm = data["run"] if "run" in data else data["arm"][0]
    assert arm["env"]["TOKEN"] == S
    arm["env"] = dict.fromkeys(arm["env"], MASK)
    assert shown == data
    assert masked_spec(masked) == masked
    kept = [line for line in [*before, *after] if "\n" not in line]
    assert all(line in masked for line in kept)


def test_tables_of_variables() -> None:
    listed = f'[[arm]]\nname = "a"\n[arm.env]\nB = "{S}"\n[[arm]]\nenv.C = 5\nx = {{y = 1}}\n'
    text = f'[run]\n[run.env]\nTOKEN = "{S}"\n{listed}'
    assert masked_spec(text) == text.replace(S, MASK).replace("env.C = 5", 'env.C = "***"')


def test_in_doubt_nothing_is_shown() -> None:
    assert S not in masked_spec(f'[run]\nenv = {{TOKEN = ["{S}"]}}\n')
    no_toml = f'this is no TOML env = "{S}"'
    assert S not in masked_spec(no_toml)
    assert masked_spec("no secrets = here") == "no secrets = here"
