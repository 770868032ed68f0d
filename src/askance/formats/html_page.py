"""Pages that need nothing else: one HTML file with its style sheet, its figures and its tables inside."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from askance.tables import Table

# Colours by role, light and dark. Figures are drawn on white; on a dark page they are turned inside out, hues kept. The
# figures of a report are narrow: side by side on a wide page, one below the other on a phone.
#: Light and dark, readable on a phone.
STYLE = """
:root{color-scheme:light dark;--ground:#fff;--text:#1d1d1f;--soft:#5c5c66;--line:#d9d9e0;--panel:#f5f5f8;
--agrees:#00694d;--differs:#a84300;--beyond:#005a8f}
@media(prefers-color-scheme:dark){:root{--ground:#16171a;--text:#e8e8ea;--soft:#a8a9b3;--line:#3a3b42;--panel:#212227;
--agrees:#4fd0a6;--differs:#ff9a5c;--beyond:#7cc4f5}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem 1rem 4rem;max-width:52rem;background:var(--ground);color:var(--text);
font:1rem/1.55 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.7rem;line-height:1.2}h2{margin-top:3.2rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}a{color:var(--beyond)}
.soft,figcaption{color:var(--soft);font-size:.9rem}
.wide{overflow-x:auto;max-width:100%;margin:1.2rem 0}figure{margin:1.2rem 0}figure .wide{margin:0 0 .3rem}
figure img{display:block;width:100%;min-width:34rem;height:auto;background:#fff;border-radius:.4rem}
table{border-collapse:collapse;min-width:min(100%,26rem);font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding-bottom:.3rem}
th,td{padding:.28rem .9rem .28rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th[scope=row]{font-weight:normal}td[style*=right]{white-space:nowrap}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:.5rem 1.5rem;
margin:1.2rem 0}
.figures figure{margin:0}.figures img{min-width:0}
ul{padding-left:1.1rem}li{margin:.5rem 0}.why{display:block}
.agrees{color:var(--agrees)}.differs{color:var(--differs)}.beyond{color:var(--beyond)}
.label{display:inline-block;padding:0 .5rem;border:1px solid currentColor;border-radius:1rem;font-size:.82rem}
pre{overflow-x:auto;background:var(--panel);padding:.7rem;border-radius:.4rem;font-size:.82rem}
.command{white-space:pre-wrap}
@media(min-width:70rem){.figures{margin-inline:-7rem}}
@media(max-width:40rem){picture img{min-width:0}table{font-size:.75rem}th,td{padding-right:.38rem}}
@media(prefers-color-scheme:dark){figure img{filter:invert(.91) hue-rotate(180deg)}}
@media print{:root{--ground:#fff;--text:#000;--soft:#333;--line:#999;--panel:#fff}
body{max-width:none;padding:0;font-size:10pt}h2{break-after:avoid}table,figure,svg{break-inside:avoid}.wide{overflow:visible}a{color:inherit}}
svg{display:block;max-width:100%;height:auto}
.alarm{border-left:.3rem solid var(--differs);padding:.2rem .8rem;background:var(--panel)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dd{margin:0;min-width:0}
""".strip()


def html_document(title: str, about: str, parts: Sequence[str]) -> str:
    """A self-contained page: a title and what it is about, which are escaped, then parts that are HTML already."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            *([f"<p>{escape(about)}</p>"] if about else []),
            *parts,
            "</body>",
            "</html>",
            "",
        ]
    )


def figure_html(name: str, content: bytes, title: str, caption: str = "", narrow: bytes | None = None) -> str:
    """A picture (PNG) within the page, with words for those who cannot see it: a caption, or title and name.

    Args:
        name: of the figure.
        content: the picture.
        title: of what it belongs to.
        caption: instead of title and name.
        narrow: the picture for phones, if it is another.
    """
    words = caption or f"{title}: {name.replace('_', ' ').replace('-', ' ')}"
    image = f'<img src="{_within(content)}" alt="{escape(words)}">'
    if narrow is not None:
        image = f'<picture><source media="(max-width:40rem)" srcset="{_within(narrow)}">{image}</picture>'
    return f'<figure><div class="wide">{image}</div><figcaption>{escape(words)}</figcaption></figure>'


def _within(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def table_html(table: Table) -> str:
    """A table that can be pushed aside where it is too wide; everything in it is escaped."""
    return f'<div class="wide">{table.to_html()}</div>'
