"""Generated attacks on the library, for as long as one likes: ``python -m tests.fuzz --help``.

Every part is a series of numbered cases; a case depends on the seed, the part and its number alone,
so that ``--only files --case 1234`` tries again what was found.
"""
