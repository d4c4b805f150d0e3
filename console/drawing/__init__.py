"""Pure functions that draw pictures as SVG text.

Colours are CSS classes, because the console's Content-Security-Policy forbids styles in pages. Each
state also has a mark or a pattern besides its colour.
"""
