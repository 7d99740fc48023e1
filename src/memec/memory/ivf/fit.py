"""Fitting an index: the coarse, the scalar and the product quantiser, to a sample of the keys."""

import numpy as np
from numpy.typing import NDArray

from memec.memory.compiled.intrinsics import PLANE
from memec.memory.ivf.coarse import Coarse
from memec.memory.ivf.contents import Quantisers
from memec.memory.ivf.product import Product
from memec.memory.ivf.scalar import COARSER, LARGEST, Encoding
from memec.memory.search_tuning import TUNING

# Where a network makes the keys most are asked for by replayed batches, of one action each: choosing among the lists
# serves one action instead of all, so that there are fewer.
FEWER_IF_MOVING = 0.8


def fit(
    keys: NDArray[np.float32],
    present: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    expected: int,
    moving: bool,
) -> Quantisers:
    """Fit to a sample of bounded size of the present entries, for as many as are expected."""
    per_root = TUNING.lists_per_root * (FEWER_IF_MOVING if moving else 1.0)
    clusters = min(TUNING.most_lists, max(1, round(per_root * expected**0.5)))
    sample = keys[rng.choice(present, min(len(present), TUNING.samples_per_list * clusters), replace=False)]
    encoding = Encoding.fit(sample[: 128 * PLANE])
    codes = encoding.rotate(sample)
    outside = (np.abs(codes) > LARGEST).any(1)
    fine = Coarse.fit(codes[~outside], max(1, round(clusters * float(np.mean(~outside)))))
    parts = [fine]
    if outside.any():
        coarse = np.clip(codes[outside] / COARSER, -LARGEST, LARGEST).astype(np.float32)
        parts.append(Coarse.fit(coarse, max(1, round(clusters * float(np.mean(outside))))))
    sizes = np.concatenate([np.diff(part.group_begins) for part in parts])
    centroids = np.rint(np.concatenate([part.centroids for part in parts])).astype(np.int8)
    product = Product.fit(codes[~outside])
    return Quantisers(
        mean=encoding.mean,
        axes=encoding.axes,
        centroids=centroids,
        planes=planes_of(centroids),
        group_centroids=np.rint(np.concatenate([part.group_centroids for part in parts])).astype(np.int8),
        group_begins=np.concatenate([[0], sizes.cumsum()]).astype(np.int32),
        fine=np.array([len(fine.centroids), len(fine.group_centroids)], np.int32),
        codewords=product.codewords,
        error=product.error,
    )


def planes_of(centroids: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the dimensions of centroids with most variance side by side."""
    return np.ascontiguousarray(centroids[:, :PLANE])
