"""The analyst's path, run as a script in an environment that has the base installation alone. Prints JSON."""

from __future__ import annotations

import contextlib
import importlib.resources
import importlib.util
import io
import json
import sys
import tempfile
import time
from pathlib import Path

PARTYS = ("jax", "jaxlib", "spu", "numpyro", "optax", "dp_accounting", "scipy", "altair", "pandas", "polars")


def codes_of(path: Path) -> tuple[str, ...]:
    """Why a file is refused; nothing if it is not."""
    from vertwin.errors import UserError
    from vertwin.release import open_release

    try:
        open_release(path)
    except UserError as error:
        return error.codes
    return ()


def main(vectors: list[str]) -> None:
    start = time.perf_counter()
    import vertwin

    import_seconds = time.perf_counter() - start
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    from vertwin.cli.verify import verify as command
    from vertwin.release import open_release, verify, write_release

    present = [name for name in PARTYS if importlib.util.find_spec(name) is not None]
    rows = signed = 0
    for vector in vectors:
        release = open_release(vector)
        table = release.sample(70_000, seed=1)
        assert table.column_names == [column.name for column in release.columns]
        assert table.equals(release.sample(70_000, seed=1, threads=1))
        for column in release.columns:
            assert not column.domain.encode(table[column.name]).faults
            assert np.isfinite(release.marginal(column.name, "twin").counts).all()
        for noisy in release.tables:
            if len(noisy.columns) <= 2:
                assert release.marginal(noisy.columns).to_table().num_rows == noisy.counts.size
        with tempfile.TemporaryDirectory() as folder:
            path = release.write_sample(Path(folder) / "twin.parquet", 1000)
            release.write_sample(Path(folder) / "twin.csv", 1000)
            assert parquet.read_metadata(path).metadata[b"vertwin.watermark"].decode() == (release.watermark or "")
            copy = write_release(Path(folder) / "copy.vertwin", release)
            assert copy.read_bytes() == Path(vector).read_bytes()
            damaged = bytearray(copy.read_bytes())
            damaged[len(damaged) // 2] ^= 1
            (Path(folder) / "damaged.vertwin").write_bytes(damaged)
            assert codes_of(Path(folder) / "damaged.vertwin") == ("E502",)
        rows += table.num_rows
        if release.signatures:
            signed += len(verify(vector).signers)
            with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
                command(Path(vector))
            assert said.getvalue().count("SHA256:") == len(release.signatures)
    for name in ("page.css", "page.html.j2"):  # the wheel has what a page is made of, though Jinja2 is an extra
        assert importlib.resources.files("vertwin.report").joinpath(name).is_file()
    found = {
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "vertwin": vertwin.__version__,
        "from": vertwin.__file__,
        "import_seconds": round(import_seconds, 3),
        "present": present,
        "loaded": [name for name in PARTYS if name in sys.modules],
        "rows": rows,
        "signed": signed,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
