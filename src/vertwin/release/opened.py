"""A release in the analyst's hands: what was promised, what was measured, and synthetic rows.

Everything here is public. Nothing needs JAX, SPU or an accountant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from vertwin.agreement import Agreement, Column
from vertwin.errors import user_error
from vertwin.release import arrow, container, manifest, marginals
from vertwin.release import signatures as signing
from vertwin.release.arrow import Batch, Table
from vertwin.release.content import Content, NoisyTable, Promise, Statement
from vertwin.release.files import refuse_existing, whole_file
from vertwin.release.marginals import Marginal, MarginalSource
from vertwin.release.sampling import Sampler
from vertwin.release.signatures import Signature, Signer

_ROWS_AT_MOST: Final = 10**12
_WHOLE_TABLE_AT_MOST: Final = 0.5  # of the machine's memory


class Release:
    """An opened release. `open_release` makes one from a file; a run makes one from what it has just learned.

    Formal guarantee: there is none that is neither watermarked as a rehearsal nor signed by every party of its
    agreement, over its digest, with the keys that the agreement names.
    """

    def __init__(self, content: Content, signed: Sequence[Signature] = (), *, place: str = "") -> None:
        faults = content.faults(place)
        sound = not faults  # of contradictory content no digest can be made
        digest = content_digest(content) if sound and signed else ""
        if sound or not signed:
            faults.extend(signing.check(signed, content.watermark, content.agreement, digest, place))
        faults.raise_if_any()
        self.content: Final = content
        self.signatures: Final = signing.in_order(signed, content.agreement)
        self._sampler: Sampler | None = None
        self._digest: str | None = digest or None

    @property
    def agreement(self) -> Agreement:
        return self.content.agreement

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.content.agreement.columns

    @property
    def statement(self) -> Statement:
        return self.content.statement

    @property
    def viewers(self) -> tuple[Promise, ...]:
        return self.content.statement.promises

    @property
    def watermark(self) -> str | None:
        """What kind of rehearsal this is from; None: every party signed it."""
        return self.content.watermark

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        return self.content.tables

    @property
    def rows_estimate(self) -> float | None:
        return self.content.rows_estimate

    @property
    def digest(self) -> str:
        """SHA-256 of the release, in hex: equal for equal content, whatever the file is called."""
        if self._digest is None:
            self._digest = content_digest(self.content)
        return self._digest

    def __repr__(self) -> str:
        parts = [f"{len(self.columns)} columns", f"{len(self.tables)} noisy tables", self.content.learner]
        signed = "signed by " + ", ".join(signature.party for signature in self.signatures)
        return f"Release({self.agreement.name!r}: {', '.join(parts)}; {self.watermark or signed})"

    def to_bytes(self) -> bytes:
        """The one file that holds this release: equal at every party, byte by byte."""
        members = manifest.to_members(self.content)
        if self.signatures:
            members[signing.MEMBER] = signing.to_member(self.signatures)
        return container.pack(members)

    # --- synthetic rows ---------------------------------------------------------------------------------------------

    @property
    def sampler(self) -> Sampler:
        """The tables that sampling needs, made at first use."""
        if self._sampler is None:
            self._sampler = Sampler(self.content)
        return self._sampler

    def sample(self, n: int, *, seed: int | None = None, threads: int | None = None) -> Table:
        """A synthetic table (pyarrow.Table) of n rows, in memory.

        Without a seed the rows are new each time; with one they are the same wherever NumPy's version is the same.
        """
        batches = self._batches(n, seed, threads, whole=True)
        return arrow.table(batches, self.sampler.schema)

    def sample_batches(
        self, n: int, *, batch_rows: int | None = None, seed: int | None = None, threads: int | None = None
    ) -> Iterator[Batch]:
        """The same rows as a stream of record batches, in memory that does not grow with n."""
        blocks = self._batches(n, seed, threads, whole=False)
        if batch_rows is None:
            return blocks
        return arrow.rebatch(blocks, _whole_number(batch_rows, "batch_rows"))

    def write_sample(
        self,
        path: str | os.PathLike[str],
        n: int,
        *,
        force: bool = False,
        seed: int | None = None,
        threads: int | None = None,
    ) -> Path:
        """Streams n synthetic rows into a `.parquet` or `.csv` file, which appears whole or not at all.

        Parquet carries the watermark in its metadata; CSV has no place for one.
        """
        final = Path(path)
        suffix = final.suffix.lower()
        if suffix not in (".parquet", ".csv"):
            sentence = f"a synthetic table is written as .parquet or .csv, not as {suffix or 'a file without suffix'}"
            raise user_error("E512", sentence, place=str(final))
        refuse_existing(final, force)
        blocks = self._batches(n, seed, threads, whole=False)
        write = arrow.write_parquet if suffix == ".parquet" else arrow.write_csv
        with whole_file(final, force) as temporary:
            write(temporary, self.sampler.schema, blocks)
        return final

    def _batches(self, n: int, seed: int | None, threads: int | None, whole: bool) -> Iterator[Batch]:
        rows = _whole_number(n, "the number of rows")
        if seed is not None and (isinstance(seed, bool) or not hasattr(seed, "__index__") or seed < 0):
            raise user_error("E520", "a seed is a whole number of zero or more")
        if threads is not None:
            _whole_number(threads, "the number of threads")
        if whole:
            self._refuse_too_large(rows)
        return self.sampler.blocks(rows, seed, threads)

    def _refuse_too_large(self, rows: int) -> None:
        each = arrow.bytes_per_row(next(self.sampler.blocks(min(rows, 1000), seed=0, threads=1)))
        if rows * each > _memory() * _WHOLE_TABLE_AT_MOST:
            raise user_error(
                "E521",
                f"{rows:,} rows would take {rows * each / 2**30:,.0f} GiB, more than half of this machine's memory",
                "write_sample and sample_batches stream them",
            )

    # --- tables -----------------------------------------------------------------------------------------------------

    def marginal(self, columns: str | Sequence[str], source: MarginalSource = "measured") -> Marginal:
        """The table of one column, or of two: the noisy counts, or what the twin expects."""
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        match source:
            case "measured":
                return marginals.measured(self.content, names)
            case "twin":
                return marginals.expected(self.content, names)
            case _:  # pyright: ignore[reportUnnecessaryComparison]
                raise user_error("E522", 'the source of a marginal is "measured" or "twin"')


def open_release(path: str | os.PathLike[str]) -> Release:
    """Reads a release and checks all of it; whatever is wrong with the file is one `UserError`."""
    place = str(path)
    data = _read(Path(path), place)  # of a file that is no ZIP file, the first bytes only
    return read_release(data, place)


def read_release(data: bytes, place: str = "") -> Release:
    """The same from the bytes of a file."""
    members = container.unpack(data, place)
    raw = members.pop(signing.MEMBER, None)
    signed = () if raw is None else signing.read(bytes(raw), place)
    release = Release(manifest.from_members(members, place), signed, place=place)
    if release.signatures != signed or (raw is not None and not signed):
        raise user_error("E524", "its signatures are not in the order that vertwin writes", place=place)
    return release


def write_release(
    path: str | os.PathLike[str],
    content: Content | Release,
    force: bool = False,
    *,
    signatures: Sequence[Signature] = (),
) -> Path:
    """Writes a release: whole or not at all, never over an existing file unless forced. Returns the path.

    Content without a watermark needs the signature of every party (`sign`, exchanged by the parties); a `Release`
    brings its own.
    """
    final = Path(path)
    data = (content if isinstance(content, Release) else Release(content, signatures)).to_bytes()
    with whole_file(final, force) as temporary:
        temporary.write_bytes(data)
    return final


def content_digest(content: Content) -> str:
    """The digest of the release with this content, in hex: signatures are over it, so they are no part of it."""
    return manifest.digest_of(manifest.to_members(content))


def sign(content: Content, party: str, signer: Signer) -> Signature:
    """This party's signature of what was learned, for the other parties and for `write_release`."""
    content.raise_unless_sound()
    return signing.sign(content_digest(content), content.watermark, content.agreement, party, signer)


def _read(path: Path, place: str) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise user_error("E500", "this is no ordinary file", place=place)
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > container.LARGEST_FILE:
                raise user_error("E502", "this file is larger than any release can be", place=place)
            start = file.read(len(container.MAGIC))
            return start + file.read() if start == container.MAGIC else start
    except FileNotFoundError:
        raise user_error("E500", "there is no such file", place=place) from None
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "not a path"
        raise user_error("E500", f"it cannot be read ({reason})", place=place) from None


def _whole_number(value: int, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= int(value) <= _ROWS_AT_MOST:
        raise user_error("E520", f"{what} is a whole number of one or more")
    return int(value)


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 8 << 30
