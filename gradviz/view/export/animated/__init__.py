"""A recording that plays by itself: frames with code, graph and caption, as SVG, GIF or APNG."""
