"""pandas, xarray and dask on tensors: the values that they have on arrays; xarray's and dask's stay tensors."""

import numpy as np
import pytest

import lucid_nb as lnb

GRID = np.random.default_rng(0).normal(size=(4, 6))
HOLED = np.where(GRID > 1, np.nan, GRID)


# --------------------------------------------------------------------------------------------------- pandas
@pytest.mark.parametrize("through", ["Series", "DataFrame", "column", "Index"])
def test_pandas_takes_tensors(through):
    pandas = pytest.importorskip("pandas")
    make = {"Series": lambda x: pandas.Series(x[0]),
            "DataFrame": lambda x: pandas.DataFrame(x, index=list("abcd")),
            "column": lambda x: pandas.DataFrame({"a": x[0], "b": x[1]}),
            "Index": lambda x: pandas.Index(x[0])}[through]
    made, wanted = make(lnb.tensor(GRID)), make(GRID)
    assert made.equals(wanted) and type(made) is type(wanted)
    np.testing.assert_array_equal(lnb.asarray(made).numpy(), wanted.to_numpy())


# --------------------------------------------------------------------------------------------------- xarray
LABELLED = {
    "arithmetic": lambda x, xarray: x * 2 + x["row"], "mean": lambda x, xarray: x.mean("row"),
    "where": lambda x, xarray: x.where(x > 0), "concat": lambda x, xarray: xarray.concat([x, x], dim="row"),
    "dot": lambda x, xarray: xarray.dot(x.fillna(0), x.fillna(0), dim="row"), "std": lambda x, xarray: x.std("column"),
    "rolling": lambda x, xarray: x.rolling(column=3).mean(), "cumsum": lambda x, xarray: x.cumsum("column"),
    "apply_ufunc": lambda x, xarray: xarray.apply_ufunc(np.exp, x), "isel": lambda x, xarray: x.isel(row=[0, 2]),
    "median": lambda x, xarray: x.median("row"), "quantile": lambda x, xarray: x.quantile(0.3, "row"),
    "shift": lambda x, xarray: x.shift(column=1), "stack": lambda x, xarray: x.stack(both=("row", "column")),
    "groupby": lambda x, xarray: x.groupby("row").mean(), "sortby": lambda x, xarray: x.sortby("row"),
    "coarsen": lambda x, xarray: x.coarsen(column=2).mean(), "max": lambda x, xarray: x.max("row"),
    "transpose": lambda x, xarray: x.transpose("column", "row"), "astype": lambda x, xarray: x.astype("float32"),
    "pad": lambda x, xarray: x.pad(row=1), "diff": lambda x, xarray: x.diff("column"),
    "broadcasting": lambda x, xarray: x - x.mean("row"), "dropna": lambda x, xarray: x.dropna("column"),
}


@pytest.mark.parametrize("name", LABELLED)
def test_xarray_wraps_tensors(name):
    xarray = pytest.importorskip("xarray")
    found, wanted = [
        LABELLED[name](xarray.DataArray(data, dims=("row", "column"), coords={"row": [3, 1, 2, 0]}), xarray)
        for data in (lnb.tensor(HOLED), HOLED)]
    assert isinstance(found.data, lnb.Tensor) and found.dims == wanted.dims and found.dtype == wanted.dtype
    np.testing.assert_allclose(found.data.numpy(), wanted.data, rtol=1e-14)
    assert "DataArray" in repr(found)


# ----------------------------------------------------------------------------------------------------- dask
CHUNKED = {
    "sum": lambda x, dask: x.sum(), "mean": lambda x, dask: x.mean(axis=1), "std": lambda x, dask: x.std(axis=0),
    "exp": lambda x, dask: dask.exp(x), "tensordot": lambda x, dask: dask.tensordot(x, x, axes=([0, 1], [0, 1])),
    "max": lambda x, dask: x.max(axis=1), "concatenate": lambda x, dask: dask.concatenate([x, x]),
    "slice": lambda x, dask: x[1:, ::2], "where": lambda x, dask: dask.where(x > 0, x, 0), "T": lambda x, dask: x.T,
    "reshape": lambda x, dask: x.reshape((24,)), "cumsum": lambda x, dask: x.cumsum(axis=1),
    "map_blocks": lambda x, dask: x.map_blocks(lambda block: block * 2), "argmax": lambda x, dask: x.argmax(axis=0),
    "stack": lambda x, dask: dask.stack([x, x]), "matmul": lambda x, dask: x @ x.T,
    "rechunk": lambda x, dask: x.rechunk((2, 3)), "topk": lambda x, dask: dask.topk(x, 2, axis=1),
    "map_overlap": lambda x, dask: x.map_overlap(lambda block: block, depth=1),
}


@pytest.mark.parametrize("name", CHUNKED)
def test_dask_computes_on_tensors(name):
    dask = pytest.importorskip("dask.array")
    found, wanted = [CHUNKED[name](dask.from_array(data, chunks=(2, 6)), dask).compute(scheduler="synchronous")
                     for data in (lnb.tensor(GRID), GRID)]
    assert isinstance(found, lnb.Tensor)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-14, atol=1e-14)
