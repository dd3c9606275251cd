"""The loops behind the table, as plain functions that the store compiles; importing one of its modules imports Numba.

Every loop works on `range(start, stop)` of units (rows, panels, blocks) whose results do not depend on the split.
"""
