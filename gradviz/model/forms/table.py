"""Which forms there are: a new one is a file beside this one and a row here."""

from __future__ import annotations

from typing import Final

from gradviz.model.forms.choose import Choose
from gradviz.model.forms.click import Click
from gradviz.model.forms.edges import Edges
from gradviz.model.forms.flags import Table
from gradviz.model.forms.form import Form
from gradviz.model.forms.order import Order
from gradviz.model.forms.tick import Tick
from gradviz.model.forms.typed import Typed

FORMS: Final[dict[str, type[Form]]] = {
    one.kind: one for one in (Choose, Tick, Table, Typed, Order, Click, Edges)
}
"""Each form by its keyword in ``gradviz.predict``."""
