"""Which kind of linkage the agreement asks for, and what each gives. Kinds that are not built are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from vertwin.errors import user_error
from vertwin.linkage.aligned import agree_on_rows
from vertwin.linkage.exact import link_by_keys
from vertwin.linkage.linked_table import LinkedTable

if TYPE_CHECKING:
    from vertwin.engine.session import Session
    from vertwin.tables import Table


@overload
def link(table: Table, session: Session) -> LinkedTable: ...
@overload
def link(table: None, session: Session) -> None: ...
def link(table: Table | None, session: Session) -> LinkedTable | None:
    """Bring this party's rows into the shared order and tell the session how many there are.

    A helper has no table: it takes part with None, is told the number of rows and gets None back.
    COST and what peers learn: see the kind's own file.
    """
    if table is None:
        session.rows = agree_on_rows(None, session)
        return None
    match table.linkage.kind:
        case "aligned":
            session.rows = agree_on_rows(table.rows, session)
            return LinkedTable(table.party, table.columns, table.rows, table.batches)
        case "exact":
            linked = link_by_keys(table, session)
            session.rows = agree_on_rows(linked.rows, session)  # a helper is told the number here
            return linked
        case "fuzzy":
            raise user_error("E610", "linkage by fuzzy keys is not built yet", place="[linkage]")
