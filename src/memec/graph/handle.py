"""All tables of the graph handed to compiled code as one: numba takes 90 ns for each array, and there are fifty."""

from typing import Any, Self

from numba import njit, types
from numba.experimental import structref

from memec.graph.tables import Ints, Rules, Tables
from memec.memory.compiled.kernels import COMPILE


@structref.register
class HandleType(types.StructRef):
    """What compiled code knows of a handle."""

    def preprocess_fields(self, fields: Any) -> Any:
        """Take numbers as such, not as the constants they are."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)  # type: ignore[no-untyped-call]


class Handle(structref.StructRefProxy):
    """The tables, the rules, and what was last found; it keeps the arrays alive, and is made anew with them."""

    tables: Tables
    rules: Rules
    last_found: Ints

    def __new__(cls, tables: Tables, rules: Rules, last_found: Ints) -> Self:
        """Make one; `make_handle` does, as only compiled code can."""
        return structref.StructRefProxy.__new__(cls, tables, rules, last_found)  # type: ignore[no-untyped-call, no-any-return]


structref.define_proxy(Handle, HandleType, ["tables", "rules", "last_found"])  # type: ignore[no-untyped-call]


@njit(**COMPILE)
def make_handle(tables: Tables, rules: Rules, last_found: Ints) -> Handle:
    """Hand these over as one."""
    return Handle(tables, rules, last_found)
