"""Errors as users see them: a code, a sentence, a hint; every fault of one input reported at once.

A sentence names columns, row numbers and settings; it never holds a value of a private table.
`assert` elsewhere in the code marks our own bugs; everything a user, a file, a machine or a peer can cause is one
of the codes below. docs/errors.md is generated from this table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

USER: Final = 2  # the input is wrong: the user can mend it
ENVIRONMENT: Final = 3  # the machine, the installation or a peer is in the way


@dataclass(frozen=True)
class Code:
    """One row of the table of codes: what it means, what to do, and the exit status it ends with."""

    title: str
    advice: str
    exit_status: int = USER


CODES: Final[dict[str, Code]] = {
    # --- E1xx: the agreement ------------------------------------------------------------------------------------
    "E100": Code("agreement cannot be read", "Check the path and that you may read the file."),
    "E101": Code("agreement is not UTF-8", "Save the file as UTF-8 text."),
    "E102": Code("agreement is not TOML", "Mend the line that is named; toml.io shows how TOML is written."),
    "E103": Code("unknown format version", "Write format = 1; a newer file needs a newer vertwin."),
    "E104": Code("unknown key", "Mend the key's spelling or leave it out; docs/agreement.md lists all keys."),
    "E105": Code("missing key", "Add the key or table that is named."),
    "E106": Code("wrong type of value", "Texts stand in quotes, lists in [...], numbers in neither."),
    "E107": Code("unknown choice", "Write one of the choices that the message lists."),
    "E108": Code("number or list out of range", "Take a number inside the range that is named."),
    "E109": Code("name that cannot be used", "Use a plain name without control characters."),
    "E110": Code("text that cannot be used", "Write a text that is not empty and has no control characters."),
    "E111": Code("not filled in", 'A "?" of a scaffold is left: the owner of the column fills it in.'),
    "E112": Code("reserved name", "Choose another name for this party."),
    "E115": Code("party named twice", "Give every party a name of its own."),
    "E116": Code("fewer than two holders", "At least two parties hold columns."),
    "E117": Code("holder without columns", 'Give the party a column, or role = "helper".'),
    "E118": Code("column of an unknown party", "Name one of the parties of the agreement."),
    "E119": Code("column of a helper", "A helper holds no data: name a holder."),
    "E120": Code("more than one helper", "Keep one helper."),
    "E121": Code("not a key's fingerprint", "Copy the line that `vertwin identity` prints, or leave key out."),
    "E122": Code("one key for two parties", "Each party makes its own identity key."),
    "E123": Code("not for a helper", "Leave out what only holders of data have."),
    "E125": Code("linkage unclear", 'Write kind = "aligned", or keys = [...], or fuzzy = {...}, and only one of them.'),
    "E126": Code("linkage key named twice", "Name each key column once."),
    "E130": Code("column named twice", "A name stands for one column of one party."),
    "E131": Code("value declared twice", "Write every category, level or value once."),
    "E132": Code("bounds reversed", "Write the smaller bound first."),
    "E133": Code("edges of bins not right", "Write the edges in rising order, from the lower to the upper bound."),
    "E134": Code(
        "domain without a source", "Say where the domain is written down: domains are never read off a table."
    ),
    "E135": Code("bins missing", 'Counts and reals need bins, e.g. bins = {kind = "equal_width", count = 24}.'),
    "E136": Code("unknown kind of bins", 'Write kind = "equal_width" or kind = "edges".'),
    "E137": Code("not for this type of column", "Leave the key out, or change the column's type."),
    "E138": Code("domain missing", "Declare what this type of column needs: values, categories, levels or bounds."),
    "E139": Code("family does not fit the type", "Leave family out: the default fits."),
    "E140": Code("Beta with missing values as a category", 'Use missing = "marginal", or family = "categorical".'),
    "E141": Code("impossible domain", "Mend the declared domain as the message says."),
    "E142": Code("domain of one value", "List every value that may occur, or leave the column out."),
    "E143": Code("bins do not fit the bounds", "Take fewer bins, and heaps inside the bounds."),
    "E144": Code("product of domains too large", "Declare fewer categories or wider bins, or leave columns out."),
    "E145": Code("count that is not whole", "Bounds, edges and heaps of a count are whole numbers."),
    "E150": Code("option of the other learner", "Leave the option out, or change the learner's kind."),
    "E151": Code("options that do not go together", "Leave the option out, or change the one that is named."),
    "E152": Code("dpvi without components or steps", "Give both: they are fixed beforehand."),
    "E153": Code("unknown aggregator", "Name one of the parties, or leave aggregator out."),
    "E154": Code("no helper to draw the noise", 'Add a party with role = "helper", or use noise = "holders".'),
    "E155": Code("helper draws the noise and aggregates", "Name a holder as the aggregator."),
    "E156": Code("sampling and adjacency do not go together", 'Use adjacency = "replace_one" or sampling = "none".'),
    "E157": Code("minibatches without a size", "Give batch."),
    "E160": Code("aby3 with two parties", 'Add a helper, or use protocol = "cheetah".'),
    "E161": Code("cheetah with more than two holders", 'Use protocol = "aby3" or "auto".'),
    "E162": Code("hidden minibatches without a helper", "Add a helper and use aby3."),
    "E163": Code("Beta column without bounded statistics", 'Use family = "categorical", or the hard bound.'),
    "E170": Code("no privacy target", "Write [privacy.epsilon] with a target for the analyst, or for dpvi sigma."),
    "E171": Code("both targets and sigma", "Keep one of the two."),
    "E172": Code("sigma for measure_once", "Give targets under [privacy.epsilon]."),
    "E173": Code("epsilon out of range", "An epsilon is positive and finite."),
    "E174": Code("target for an unknown viewer", 'Viewers are "analyst", "parties" and the names of the holders.'),
    "E175": Code("delta out of range", "Delta lies between 0 and 1, below one over the number of rows."),
    "E176": Code("sigma out of range", "Sigma is positive and finite."),
    "E183": Code("a key declared as a column", "Leave it out of the columns: what names a person is never released."),
    "E181": Code("approval by an unknown party", "Name parties of the agreement."),
    # --- E2xx: tables and domains -------------------------------------------------------------------------------
    "E201": Code("wrong storage type", "Store the column as the kind of values that the agreement declares."),
    "E202": Code("not a number", "Mend the field: decimals have a point, a missing value is an empty field."),
    "E203": Code("out of bounds", "Mend the values, or let all parties sign wider bounds."),
    "E204": Code("undeclared value", "Mend the values, or let all parties sign a longer list of values."),
    "E205": Code(
        "missing value refused", 'Fill the field, or let all parties sign missing = "category" or "marginal".'
    ),
    "E206": Code("not a whole number", "Mend the values, or declare the column as real."),
    "E207": Code("infinite number", "Mend the field; write a missing value as an empty field."),
    "E250": Code("table cannot be opened", "Check the path, and that you may read the file."),
    "E251": Code(
        "unknown kind of table", "Give a .csv, .tsv, .parquet, .arrow, .arrows or .feather file, or a data frame."
    ),
    "E252": Code("file is not what its name says", "Export the table again, under the ending that fits it."),
    "E253": Code("not UTF-8", "Save the file with the encoding UTF-8."),
    "E254": Code("broken rows", "Each row has as many fields as the first line; quote a field that holds a separator."),
    "E255": Code("column twice", "Give every column a name of its own."),
    "E256": Code("column not in the table", "The first line of a text file names the columns as the agreement does."),
    "E257": Code("empty table", "Give a table with at least one row."),
    "E258": Code(
        "more rows than agreed", "Let all parties sign a larger rows_at_most, or give the table that was meant."
    ),
    "E259": Code("row without a key", "Every row needs the key that the agreement links people by."),
    "E260": Code("one person, several rows", "The unit of privacy is a person: bring each person's data into one row."),
    "E261": Code("table changed", "Let nothing write to the table while it is used; then start again."),
    "E262": Code("no column names", "The first line of a text file holds the names of the columns."),
    "E270": Code("tables not aligned", "Row i must be the same person at every party; or link by keys."),
    "E271": Code("unreadable row count", "Use the same version of vertwin at every party.", ENVIRONMENT),
    "E272": Code("nobody in common", "Compare how the parties write the keys that people are linked by."),
    "E273": Code("linked differently", "The connection or a peer is broken; start again.", ENVIRONMENT),
    # --- E3xx: this machine and its installation ----------------------------------------------------------------
    "E301": Code("wrong Python", "A party's commands run on Python 3.11, where the secure engine runs.", ENVIRONMENT),
    "E302": Code("no secure engine", 'Install the party extra: pip install "vertwin[party]".', ENVIRONMENT),
    "E305": Code("checks are off", "Unset PYTHONOPTIMIZE, and start Python without -O.", ENVIRONMENT),
    "E309": Code("the system refused", "Look at what the message says: a disk, a permission, a limit.", ENVIRONMENT),
    "E304": Code("engine cannot load", "The processor or a system library lacks what SPU needs.", ENVIRONMENT),
    # --- E4xx: engines, peers, sessions -------------------------------------------------------------------------
    "E401": Code("a party stopped", "See that party's own message; then start again.", ENVIRONMENT),
    "E402": Code("a peer is gone", "Its process ended or no longer answers; start all parties again.", ENVIRONMENT),
    "E403": Code("the engine ended", "Look at the engine's log; start again.", ENVIRONMENT),
    "E404": Code("the engine refused", "Look at the engine's log; start again.", ENVIRONMENT),
    "E410": Code("parties differ", "Use the same version of vertwin and the same agreement everywhere.", ENVIRONMENT),
    "E499": Code("a bug of vertwin", "Report it, with what you ran; no table is needed for that.", ENVIRONMENT),
    "E411": Code("plans differ", "Compare the digests that vertwin check prints at every party.", ENVIRONMENT),
    "E418": Code("parties have different releases", "Compare versions and machines; nothing was written.", ENVIRONMENT),
    "E412": Code("garbled shares", "The connection or the peer is broken; start again.", ENVIRONMENT),
    "E413": Code("a peer broke its word", "It opened other bytes than it had committed to; talk to it.", ENVIRONMENT),
    "E414": Code("the matching ended", "Look at the matching's log; start again.", ENVIRONMENT),
    "E415": Code("the matching refused", "Look at the matching's log; start again.", ENVIRONMENT),
    "E416": Code("the matching hangs", "Look at the matching's log at every party; start again.", ENVIRONMENT),
    "E417": Code("a peer's matching failed", "See that party's own message; then start again.", ENVIRONMENT),
    # --- E42x-E44x: identities, peers, the tunnel between them --------------------------------------------------
    "E420": Code("identity is there already", "Use it; --force makes new keys, which no signed agreement knows."),
    "E421": Code("no identity here", "Make one with `vertwin identity NAME`, or name the right --state folder."),
    "E422": Code("not an identity file", "Ask its party for NAME.identity.pem again."),
    "E423": Code("private file open to others", "chmod 600 the key, chmod 700 its folder; others may have read it."),
    "E424": Code("peers.toml cannot be read", "docs/parties.md shows how it is written."),
    "E425": Code("peers.toml is not right", "docs/parties.md lists its keys."),
    "E426": Code("parties of peers.toml and agreement", "List every other party of the agreement, and no one else."),
    "E427": Code("not an address", 'Write "host:port"; a numeric IPv6 host stands in brackets.'),
    "E428": Code("key is not the agreed one", "Compare the identity file's fingerprint with the agreement's key."),
    "E429": Code("cannot listen", "Choose a free port of this machine under listen in peers.toml.", ENVIRONMENT),
    "E430": Code("a peer did not come", "Start it, and check addresses and firewalls on both sides.", ENVIRONMENT),
    "E431": Code("another key answers", "Compare the address and the identity file with that party.", ENVIRONMENT),
    "E432": Code("a peer turned this party away", "Send it your identity.pem; compare fingerprints.", ENVIRONMENT),
    "E433": Code("certificate out of its time", "Set the clocks of both machines right.", ENVIRONMENT),
    "E434": Code("no vertwin behind an address", "Check the address in peers.toml.", ENVIRONMENT),
    "E435": Code("tunnels of different versions", "Install the same version of vertwin everywhere.", ENVIRONMENT),
    "E437": Code("a stranger was turned away", "Nothing to do, unless a peer has just made new keys.", ENVIRONMENT),
    "E438": Code("an unprotected connection was turned away", "Nothing to do: something scans ports.", ENVIRONMENT),
    "E440": Code("agreements differ", "Compare the digests that vertwin check prints at every party."),
    "E441": Code("garbled handshake", "The peer's vertwin is of another version or broken.", ENVIRONMENT),
    "E442": Code("a peer under another name", "Every party starts with --as and its own name.", ENVIRONMENT),
    # --- E5xx: releases and files -------------------------------------------------------------------------------
    "E500": Code("file cannot be read", "Check the path; a release is an ordinary file named NAME.vertwin."),
    "E501": Code("not a release", "Name a file that vertwin wrote: NAME.vertwin."),
    "E502": Code("damaged or altered release", "Fetch the file again from where it was published."),
    "E503": Code("format of another version", "Upgrade vertwin: every version reads all older formats."),
    "E504": Code("release contradicts itself", "It was altered, or not written by vertwin: fetch it again."),
    "E505": Code("neither signed nor a rehearsal", "A release is signed by every party or watermarked as a rehearsal."),
    "E507": Code("release too large", "Use fewer columns, coarser bins or fewer components."),
    "E510": Code("output would be overwritten", "Choose another name in a folder that exists, or say --force."),
    "E511": Code("cannot write", "Free some room on the disk, or write where you are allowed to.", ENVIRONMENT),
    "E512": Code("unknown kind of output", "Name the synthetic table NAME.parquet or NAME.csv."),
    "E520": Code("not a number of rows", "Ask for one row or more; seeds and threads are whole numbers too."),
    "E521": Code("sample too large for memory", "Stream it: write_sample into a file, or sample_batches."),
    "E522": Code("no such marginal", "Name one column of the release, or two different ones."),
    "E523": Code("not measured", "The release lists its noisy tables; the twin's expectation is there for all pairs."),
    "E524": Code("signatures cannot be read", "They were altered, or not written by vertwin: fetch the file again."),
    "E525": Code("party without a key", "Let all parties sign an agreement with every party's key (vertwin identity)."),
    "E526": Code("a rehearsal cannot be signed", "Only a run between the parties, each on its own, makes a release."),
    "E527": Code("signature missing or too many", "A release is signed by every party of its agreement, once."),
    "E528": Code("signed with another key", "The key must be the one that the agreement names: ask that party."),
    "E529": Code(
        "signature does not fit", "The file was altered, or the parties computed different releases: fetch it again."
    ),
    "E530": Code("not the tables that were agreed", "Ask whoever published the release; do not rely on its promise."),
    "E531": Code(
        "promise that the noise does not keep", "Ask whoever published the release; do not rely on its promise."
    ),
    "E532": Code("promise missing", "A statement has one promise for the analyst and one for each party."),
    "E533": Code("another agreement", "Compare the digests: vertwin check prints that of your agreement."),
    "E534": Code("no report", 'Install the report extra: pip install "vertwin[report]".', ENVIRONMENT),
    "E535": Code("nobody signed it", "A rehearsal is for trying only; --rehearsal checks all the rest of it."),
    # --- E54x-E56x: the ledger ----------------------------------------------------------------------------------
    "E540": Code("no ledger that can be read", "Name the data set, the party and the --state folder as the run did."),
    "E541": Code("ledger altered or damaged", "Bring back the newest copy of its whole folder; never edit its files."),
    "E542": Code("ledger of another data set or party", "Put the right ledger there, or name the right state folder."),
    "E543": Code("ledger in use", "Wait until the other run of this party has ended, or end it.", ENVIRONMENT),
    "E544": Code("end of the ledger is missing", "Bring back the newest copy of its whole folder; then start again."),
    "E545": Code("clock goes backwards", "Set the clock right; if it was ahead before: vertwin ledger clock."),
    "E546": Code("a peer's ledger went back", "That party has to bring back its newest ledger.", ENVIRONMENT),
    "E547": Code("ledger cannot be written", "Free some room on its disk; then start again.", ENVIRONMENT),
    "E548": Code("a peer's ledger message is not right", "The peer's vertwin or its keys are others.", ENVIRONMENT),
    "E549": Code("ledger of a newer version", "Upgrade vertwin: every version reads all older ledgers."),
    "E550": Code("budget exceeded", "Ask for less, or let the owner of the data set decide on another budget."),
    "E551": Code("event that cannot be composed", "Use the party installation and the newest vertwin."),
    "E552": Code("no viewer", "Name the analyst, parties, another party, or several parties joined by +."),
    "E553": Code("stored shares damaged or gone", "Start again: what may have been revealed stays counted."),
    "E554": Code("attempt seen before", "Start all parties again: they make a new number.", ENVIRONMENT),
    "E555": Code("owner's secret damaged or gone", "Bring back owner.secret from the newest copy of the folder."),
    "E556": Code("attempt that cannot go on", "Start all parties again; what may have been revealed stays counted."),
    "E557": Code("head not countersigned", "Start all parties again with the same vertwin.", ENVIRONMENT),
    "E558": Code("releases differ", "Compare versions and machines of all parties; then start again.", ENVIRONMENT),
    "E559": Code("whose ledger?", "Name the party with --as: this machine holds ledgers of several."),
    "E560": Code("the tables of an unfinished run changed", "Bring them back, or give that run up at every party."),
    # --- E6xx: named in the design, not built yet ---------------------------------------------------------------
    "E600": Code("Poisson sampling is not built yet", 'Use sampling = "none" or "epochs".'),
    "E601": Code("full posterior is not built yet", 'Use posterior = "mean_field".'),
    "E602": Code("this bound is not built yet", 'Use bound = {kind = "hard"} and update = "gradient".'),
    "E603": Code("constrained gradients are not built yet", 'Use gradient_space = "unconstrained".'),
    "E604": Code("noise by the helper is not built yet", 'Use noise = "holders".'),
    "E605": Code("fuzzy linkage is not built yet", 'Use keys = [...] or kind = "aligned".'),
    "E606": Code("several rows per person are not built yet", "Make one row of each person first."),
    "E607": Code("approvals are not built yet", "Leave [approvals] out."),
    "E608": Code("equal-count bins are not built yet", 'Use bins of kind "equal_width" or "edges".'),
    "E612": Code("run does not take this yet", "vertwin rehearse --secure runs it here, watermarked.", USER),
    "E610": Code("linkage not built yet", 'Use [linkage] kind = "aligned" with tables in the same order of people.'),
    # --- E7xx: privacy parameters and plans ---------------------------------------------------------------------
    "E700": Code("A delta that is no probability", "Delta lies strictly between 0 and 1; choose it well below 1/rows."),
    "E701": Code("An epsilon that is not positive", "Give a positive, finite epsilon for the viewer that is named."),
    "E702": Code(
        "A noise scale that cannot be drawn", "Give a positive, finite scale; very large ones want a coarser grid."
    ),
    "E703": Code("No privacy target", "Name at least one epsilon under [privacy.epsilon], or for dpvi a sigma."),
    "E704": Code(
        "A target that no noise can meet", "The viewer is promised more than this mechanism can give: see the sentence."
    ),
    "E705": Code(
        "Settings that break a guarantee", "The sentence says which two settings do not go together, and why."
    ),
    "E706": Code("A delta too small for numerical accounting", "Take a larger delta, or sampling none or epochs."),
    "E707": Code("A plan without a number of rows", "Add --rows N: about how many people are in all the tables."),
    # --- E75x: model and learners -------------------------------------------------------------------------------
    "E750": Code(
        "An unknown family", "Name a family of the table in docs/families.md, or leave it to the domain's type."
    ),
    "E751": Code(
        "A family that does not fit its domain", "Choose a family made for this type of domain, or leave it out."
    ),
    "E752": Code(
        "A clipping threshold that is no positive number", "Give learner.bound.clipping_threshold a positive number."
    ),
    "E753": Code(
        "A bound that the arithmetic cannot keep", "Raise the clipping threshold, or compute in a wider field."
    ),
    "E754": Code("An option of dpvi that is not built yet", "Use the settings that the hint names."),
    "E755": Code(
        "Sampling that does not go with the rows", "Choose a batch of at least one and at most all linked rows."
    ),
    "E756": Code(
        "Parties hold different parameters", "A message was changed on its way, or versions differ: start again."
    ),
    "E757": Code(
        "The learner left the finite numbers", "Lower step_size; if it persists, report it with the agreement."
    ),
    "E758": Code("Too few or too many holders for the engine", "dpvi computes between two holders, or three nodes."),
    # --- E72x: the command line ---------------------------------------------------------------------------------
    "E720": Code("a command that is not understood", "See the command's --help."),
    "E721": Code("--data names no holder", "Write --data PARTY=FILE, once for each holder of the agreement."),
    "E722": Code("options that go together", "See the command's --help."),
}


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong. `place` says where (a key of the agreement, a column and row), `hint` what to try."""

    code: str
    sentence: str
    hint: str = ""
    place: str = ""

    def __post_init__(self) -> None:
        assert self.code in CODES, f"error code {self.code} is not in the table"

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        tail = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.code} {where}{self.sentence}{tail}"


class UserError(Exception):
    """What a command ends with: one or more faults, all of them found in one pass."""

    def __init__(self, faults: Fault | Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        assert self.faults, "a UserError needs a fault"
        super().__init__("\n".join(str(fault) for fault in self.faults))

    @property
    def exit_status(self) -> int:
        """ENVIRONMENT if any fault is one of the machine's or a peer's, else USER."""
        return max(CODES[fault.code].exit_status for fault in self.faults)

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(fault.code for fault in self.faults)


def user_error(code: str, sentence: str, hint: str = "", place: str = "") -> UserError:
    """A UserError with a single fault."""
    return UserError(Fault(code, sentence, hint, place))


class Faults:
    """Collects faults so that a user sees all of them at once."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, code: str, sentence: str, hint: str = "", place: str = "") -> None:
        self._faults.append(Fault(code, sentence, hint, place))

    def extend(self, faults: Iterable[Fault]) -> None:
        self._faults.extend(faults)

    def __bool__(self) -> bool:
        return bool(self._faults)

    def __iter__(self):  # noqa: ANN204 - an iterator over Fault
        return iter(self._faults)

    def raise_if_any(self) -> None:
        if self._faults:
            raise UserError(self._faults)
