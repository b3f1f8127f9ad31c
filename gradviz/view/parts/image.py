"""Pictures and pages inside HTML: a notebook shows a picture without trust."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import Final

_TELL_THEME: Final = """\
(frame => {
  const tell = () => {
    for (let at = frame.parentElement; at; at = at.parentElement) {
      const ground = getComputedStyle(at).backgroundColor.match(/^rgb.*/)?.[0].match(/[.\\d]+/g);
      if (!ground || ground[3] === "0") continue;
      const [red, green, blue] = ground.map(Number);
      const theme = 3 * red + 6 * green + blue < 1280 ? "dark" : "light";
      return frame.contentWindow?.postMessage({ gradvizTheme: theme }, "*");
    }
  };
  const watch = new MutationObserver(() => (tell(), setTimeout(tell, 500)));
  for (const one of [document.documentElement, document.body])
    watch.observe(one, { attributes: true });
  tell();
})(this)"""
"""Tells a frame, now and whenever its page is given another theme, on what ground it stands."""


def image_html(svg: str, alt: str) -> str:
    """A picture as data image, the only form that a notebook that is not trusted shows."""
    encoded = b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    source = f"data:image/svg+xml;base64,{encoded}"
    return f'<img alt="{escape(alt)}" style="max-width:100%" src="{source}">'


def frame_html(page: str, title: str, height: int = 0) -> str:
    """A page in a frame, which can run its scripts and reaches nothing around it. It is dark on
    dark ground.

    Args:
        page: HTML of the page.
        title: What it shows, for screen readers.
        height: Pixels; 0: as many as a widget takes at most, and a headline.
    """
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{height or 740}px;border:0" '
        f'onload="{escape(_TELL_THEME)}" srcdoc="{escape(page)}"></iframe>'
    )
