"""Sums over the rows of every cluster, of which a block of rows has a few."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray, IntArray


class ClusterSums(NamedTuple):
    """Codes of clusters in order, shape (g,), and their sums, shape (g, d)."""

    clusters: IntArray
    sums: FloatArray


def cluster_sums(codes: IntArray, values: FloatArray) -> ClusterSums:
    """Of the clusters that occur: values, shape (n, d), added up by code.

    >>> cluster_sums(np.array([7, 2, 7]), np.array([[1.0], [2.0], [3.0]]))
    ClusterSums(clusters=array([2, 7]), sums=array([[2.], [4.]]))
    """
    clusters, place = np.unique(codes, return_inverse=True)
    columns = [np.bincount(place.reshape(-1), weights=column, minlength=len(clusters)) for column in values.T]
    return ClusterSums(clusters, np.stack(columns, axis=1))


def merge_clusters(earlier: ClusterSums, later: ClusterSums) -> ClusterSums:
    """The sums of both, cluster by cluster."""
    return cluster_sums(*(np.concatenate(parts) for parts in zip(earlier, later, strict=True)))
