"""Random cases that look for a broken promise; ``make fuzz`` runs them for as long as you like.

A case is a pure function of its number: the number seeds a generator, which draws a table, a selector and its settings
and one law that must hold for them (or a damaged file, or a moment to interrupt a command). The laws are those of the
docstrings; ``docs/user_guide/promises.md`` lists them.
"""
