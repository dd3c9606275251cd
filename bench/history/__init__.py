"""Benchmarks that asv runs over commits."""
