"""More than two hundred hostile texts: names that would do something if a page or a picture took them for more.

Each that can run anything sets `window.__hacked` to its own number, opens a dialog, or loads a picture whose address
has "hacked-" and its number in it, so that a test that fails says who got through. All are different, none is blank,
and none holds a NUL: a study would refuse those. `SURROGATES` are apart, because no file can hold them.
"""

from __future__ import annotations

import unicodedata

__all__ = ["LOADED", "SURROGATES", "TEXTS", "shown"]

LOADED = "hacked-"
"""What the address of every picture holds that a hostile text would load."""

_MARKUP = (
    "<script>RUN</script>",
    "<SCRIPT>RUN</SCRIPT>",
    "<script >RUN</script >",
    "<script\x0b>RUN</script>",
    "<script/x>RUN</script>",
    "<script src=LOAD></script>",
    "<script type=module>RUN</script>",
    "<scr<script>ipt>RUN</scr</script>ipt>",
    "</script><script>RUN</script>",
    "</script><!--<script>RUN</script>-->",
    "<!--><script>RUN</script>",
    "<!-- --!><script>RUN</script>",
    "--><script>RUN</script><!--",
    "]]><script>RUN</script>",
    "<![CDATA[<script>RUN</script>]]>",
    "</style><script>RUN</script>",
    "</title><script>RUN</script>",
    "</textarea><script>RUN</script>",
    "</noscript><script>RUN</script>",
    "</template><script>RUN</script>",
    "</select><script>RUN</script>",
    "</option></select><img src=x onerror=RUN>",
    "</table><script>RUN</script>",
    "</svg><script>RUN</script>",
    "</text></svg><img src=x onerror=RUN>",
    "</desc><script>RUN</script>",
    "</a><script>RUN</script>",
    "</body></html><script>RUN</script>",
    "<?xml version='1.0'?><script>RUN</script>",
    "<!DOCTYPE x [<!ENTITY run 'RUN'>]>&run;",
    "<plaintext><script>RUN</script>",
    "<xmp></xmp><script>RUN</script>",
    "<noembed></noembed><script>RUN</script>",
    "<base href=http://127.0.0.1:1025/hacked-NUM/>",
    "<meta http-equiv=refresh content='0;url=LOAD'>",
    "<link rel=stylesheet href=LOAD>",
    "<style>@import 'LOAD';</style>",
    "<style>*{background:url(LOAD)}</style>",
)
_HANDLERS = (
    "<img src=x onerror=RUN>",
    "<img src=x onerror='RUN'>",
    '<img src=x onerror="RUN">',
    "<img/src=x/onerror=RUN>",
    "<img src=x\nonerror=RUN>",
    "<IMG SRC=x OnErRoR=RUN>",
    "<img src=x onerror=alert`NUM`>",
    "<img src=LOAD>",
    "<img srcset='LOAD 1x'>",
    "<image src=x onerror=RUN>",
    "<body onload=RUN>",
    "<input autofocus onfocus=RUN>",
    "<button autofocus onfocus=RUN>x</button>",
    "<details open ontoggle=RUN><summary>x</summary></details>",
    "<video><source onerror=RUN></video>",
    "<video poster=LOAD></video>",
    "<audio src=x onerror=RUN></audio>",
    "<object data='javascript:RUN'></object>",
    "<embed src='javascript:RUN'>",
    "<iframe src='javascript:parent.RUN'></iframe>",
    "<iframe srcdoc='<script>RUN</script>'></iframe>",
    "<iframe srcdoc='&lt;script&gt;parent.RUN&lt;/script&gt;'></iframe>",
    "<marquee onstart=RUN>x</marquee>",
    "<div onpointerenter=RUN style='position:fixed;inset:0'>x</div>",
    "<div style='background:url(LOAD)'>x</div>",
    "<p style=animation-name:x onanimationstart=RUN>x</p>",
    "<form><button formaction=javascript:RUN>x</button></form>",
    "<a href=javascript:RUN id=hacked>x</a>",
    "<template shadowrootmode=open><script>RUN</script></template>",
    "<x contenteditable onblur=RUN>x</x>",
)
_FOREIGN = (
    "<svg onload=RUN>",
    "<svg/onload=RUN>",
    "<svg><script>RUN</script></svg>",
    "<svg><script href=LOAD /></svg>",
    "<svg><script>&#95;&#95;hacked=NUM</script></svg>",
    "<svg><image href=LOAD /></svg>",
    "<svg><use href=LOAD#x /></svg>",
    "<svg><a href='javascript:RUN'><text y=9>x</text></a></svg>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s></svg>",
    "<svg><set attributeName=onmouseover to=RUN></svg>",
    "<svg><foreignObject><img src=x onerror=RUN></foreignObject></svg>",
    "<svg><style><img src=x onerror=RUN></style></svg>",
    "<svg></p><style><a id='</style><img src=x onerror=RUN>'>",
    "<math><mtext><img src=x onerror=RUN></mtext></math>",
    "<math href='javascript:RUN'>x</math>",
    "<math><mi><style><!--</style><img src=x onerror=RUN>--></mi></math>",
    "<foreignObject><body onload=RUN></foreignObject>",
    "<desc><script>RUN</script></desc>",
)
_ATTRIBUTES = (
    '"><script>RUN</script>',
    "'><script>RUN</script>",
    '"><img src=x onerror=RUN>',
    "'><img src=x onerror=RUN>",
    '" autofocus onfocus=RUN x="',
    "' autofocus onfocus=RUN x='",
    "` onerror=RUN x=`",
    " onerror=RUN ",
    'x" onload="RUN',
    "x' onmouseover='RUN",
    '"/><svg onload=RUN>',
    "javascript:RUN",
    "JaVaScRiPt:RUN",
    "java\tscript:RUN",
    "java\nscript:RUN",
    "\x01javascript:RUN",
    "javascript://%0aRUN",
    "data:text/html,<script>RUN</script>",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cuX19oYWNrZWQ9MTwvc2NyaXB0Pg==",
    "vbscript:RUN",
    "//127.0.0.1:1025/hacked-NUM",
    "https://example.org/hacked-NUM",
)
_PROGRAMS = (
    "';RUN;//",
    '";RUN;//',
    "`;RUN;//",
    "${RUN}",
    "\\';RUN;//",
    '\\";RUN;//',
    "\\",
    "\\u003cscript\\u003eRUN\\u003c/script\\u003e",
    "\\x3cscript\\x3eRUN\\x3c/script\\x3e",
    "\u2028RUN\u2029",
    "*/RUN/*",
    "//\nRUN",
    "{{constructor.constructor('RUN')()}}",
    "{{RUN}}",
    "{%RUN%}",
    "<%= RUN %>",
    "#{RUN}",
    "[[RUN]]",
    '"}];RUN;[{"',
    '{"__proto__":{"hacked":NUM}}',
    "%{hovertext}<extra>RUN</extra>",
    "%{customdata[0]}<br><a href='javascript:RUN'>x</a>",
    '<b>bold</b><br><a href="javascript:RUN">link</a>',
    "expression(RUN)",
    "url(LOAD)",
    "');background:url(LOAD);('",
    "}*{background:url(LOAD)}",
    "</style>}*{background:url(LOAD)}",
)
_ENCODINGS = (
    "&lt;script&gt;RUN&lt;/script&gt;",
    "&#60;script&#62;RUN&#60;/script&#62;",
    "&#x3c;img src=x onerror=RUN&#x3e;",
    "&amp;lt;script&amp;gt;RUN",
    "&amp",
    "&",
    "&notit;&copy&reg;&#0;&#128;&#xD800;",
    "+ADw-script+AD4-RUN+ADw-/script+AD4-",
    "%3Cscript%3ERUN%3C/script%3E",
    "\xc0\xbcscript\xc0\xbeRUN",
    "＜script＞RUN＜/script＞",
    "‹script›RUN‹/script›",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "bell\x07back\x08form\x0cescape\x1bunit\x1f",
    "delete\x7fnext\x85end\x9f",
    "\ufeffmark first",
    "not a character \uffff\ufffe\U0001ffff",
    "private \ue000 \U0010fffd",
    "replaced \ufffd",
)
_WRITING = (
    "\u202egnp.tpircs\u202c",
    "\u2066isolated\u2069 \u202b embedded",
    "left \u200f right \u200e mark \u061c",
    "zero\u200bwidth\u200cjoin\u200dno\u2060break\ufeff",
    "soft\xadhyphen",
    "Z" + "\u0310\u0352\u0301\u0324\u0489" * 40 + "algo",
    "مرحبا بالعالم <b>",
    'שלום "עולם" & <i>',
    "日本語の名前 <script>",
    "한국어 이름",
    "हिन्दी नाम",
    "ไทย",
    "👩‍👩‍👧‍👦🏳️‍🌈 \U0001f469\U0001f3fd\u200d\U0001f680",
    "é",
    "e\u0301",
    "Å",
    "\u212b",
    "ﬁ",
    "fi",
    "I",
    "İ",
    "ı",
    "аrm",
    "arm",
    "Arm",
    " arm",
    "arm ",
    "\tarm\t",
    "arm\u00a0",
    "arm\n",
    "two\nlines",
    "two\r\nlines",
    "two\rlines",
    "\n\n\nafter empty lines",
)
_OTHERS = (
    "../../../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "/etc/passwd\x20",
    "CON",
    "a/b?c=d&e=f#g",
    "'; DROP TABLE studies; --",
    "' OR '1'='1",
    "{0} {arm} {0.__class__} %s %d %n %(x)s",
    "$\\mathtext$ $x^{2",
    "$$\\frac{1}{0}$$ \\(x\\) \\[y\\] \\input{/etc/passwd}",
    "_{x}^{y} a_b_c #5 ~",
    "[link](javascript:RUN)",
    "![image](LOAD)",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "a|b||c `code` ```\n# heading\n- [ ] item\n> quote",
    "**bold** _italic_ ~~gone~~ <!-- gone -->",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://127.0.0.1:1025/hacked-NUM","x")',
    "+1+1",
    "-2+3",
    "@SUM(1+1)",
    'a,"b";c\td',
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "true",
    "null",
    "NaN",
    "-0",
    "1e309",
    "0x10",
    "undefined",
    "[object Object]",
    "\"'`´‘’“”«»",
    "x" * 10_000,
    "<b>" * 3_000 + "RUN",
    "wide " * 1_000 + "<script>RUN</script>",
)


def _numbered(number: int, text: str) -> str:
    load = f"http://127.0.0.1:1025/{LOADED}{number}"
    return text.replace("RUN", f"__hacked={number}").replace("LOAD", load).replace("NUM", str(number))


def _all() -> tuple[str, ...]:
    made = [*_MARKUP, *_HANDLERS, *_FOREIGN, *_ATTRIBUTES, *_PROGRAMS, *_ENCODINGS, *_WRITING, *_OTHERS]
    return tuple(_numbered(number, text) for number, text in enumerate(made))


TEXTS: tuple[str, ...] = _all()
"""All of them, in an order that does not change."""

SURROGATES = ("half a pair \ud800<script>__hacked=900</script>", "\udc00\ud800", "\udfff' onerror=__hacked=901")
"""Texts that are none in any encoding; a name in memory may still be one."""


def shown(text: str) -> str:
    """What a page shows of a text: nothing that is not seen but white space, and one kind of line end.

    Written apart from the package's own cleaning, as a check on it.

    >>> shown("a\\x07b\\r\\nc\\ud800")
    'a\ufffdb\\nc\ufffd'
    """
    kept = " \t\n\r\xa0\u3000\u200c\u200d"
    plain = "".join(c if c in kept or unicodedata.category(c)[0] not in "CZ" else "\ufffd" for c in text)
    return plain.replace("\r\n", "\n").replace("\r", "\n")
