"""Pictures as SVG text, made by pure functions.

Colours are CSS classes: the console's policy allows no styles in pages. No state is shown by colour
alone.
"""
