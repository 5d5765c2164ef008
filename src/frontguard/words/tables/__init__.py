"""The table of arms, once for all who show it: its cells (`arm_table`), what a narrow terminal leaves out of it
(`arm_sheet`, `names`), and other tables for terminals (`terminal`).
"""
