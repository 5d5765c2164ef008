"""What a log is looked at for, beside its answer: whether what is asked of it makes sense, and what may be wrong.

`unusable` counts values that an objective cannot use, `ties` refuses medians that say little; `alike` sees files and
rows that differ, `correlation` rows that depend on each other although nobody said so. All but the second are notices.
"""
