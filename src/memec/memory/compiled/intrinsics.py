"""What Python has no words for: distances and look-ups as vector instructions, and asking for memory ahead.

They are written as operations that any processor has, but for the look-up in small tables: where the processor's
instruction for it is not known, the same numbers come from a loop.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from memec.memory.compiled.kernels import COMPILE

PLANE = 64
LANES = 64
"""Keys whose distances are computed at once."""
LANES_LOOKED_UP = 16
LINE = 64
"""Bytes that memory hands over at once."""

BYTE, INT32, INDEX = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _function(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """Declare one of LLVM's own functions."""
    kind = ir.FunctionType(result, arguments)
    return cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]


def _data(context: Any, builder: Any, signature: Any, arguments: Any, place: int) -> Any:
    return context.make_array(signature.args[place])(context, builder, arguments[place]).data


def _plane_distance(_context: Any, codes: Any, begin: Any, code: Any, plane_begin: Any) -> Any:
    """Squared distance between 64 int8 at `begin` of flat `codes` and 64 int16 at `plane_begin` of `code`.

    The same loop in Python compiles to code that needs 1.5 to 2 times as long (the sum across lanes is done too often).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        int8, int16, int32 = (ir.VectorType(ir.IntType(bits), PLANE) for bits in (8, 16, 32))
        data = [_data(context, builder, signature, arguments, place) for place in (0, 2)]
        stored = builder.bitcast(builder.gep(data[0], [arguments[1]]), int8.as_pointer())
        asked = builder.bitcast(builder.gep(data[1], [arguments[3]]), int16.as_pointer())
        difference = builder.sub(builder.sext(builder.load(stored, align=1), int16), builder.load(asked, align=2))
        wide = builder.sext(difference, int32)
        total = _function(builder, f"llvm.vector.reduce.add.v{PLANE}i32", ir.IntType(32), int32)
        return builder.call(total, [builder.mul(wide, wide)])

    return types.int32(codes, types.int64, code, types.int64), generate


plane_distance: Any = intrinsic(_plane_distance)


def _prefetch(_context: Any, array: Any, row: Any, offset: Any) -> Any:
    """Ask for the line of memory that is `offset` bytes into `array[row]`; nothing is read, whatever lies there.

    It is asked into the second cache, which can wait for more lines at once than the first: blocks of 1,792 bytes here
    and there came with 14.7 GB/s instead of 10.0, and a search in Ms. Pac-Man took 5% less.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table = context.make_array(signature.args[0])(context, builder, arguments[0])
        begin = builder.mul(builder.extract_value(table.strides, 0), arguments[1])
        address = builder.add(builder.ptrtoint(table.data, INDEX), builder.add(begin, arguments[2]))
        where = builder.inttoptr(address, BYTE.as_pointer())
        fetch = _function(builder, "llvm.prefetch.p0", ir.VoidType(), where.type, *[ir.IntType(32)] * 3)
        to_read, second_cache, data = (ir.Constant(ir.IntType(32), flag) for flag in (0, 2, 1))
        builder.call(fetch, [where, to_read, second_cache, data])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


prefetch_line: Any = intrinsic(_prefetch)


@njit(inline="always", **COMPILE)
def prefetch(array: NDArray[Any], row: int, size: int) -> None:
    """Ask for the first `size` bytes of `array[row]` ahead of their use; it changes nothing but the time."""
    for offset in range(0, size, LINE):
        prefetch_line(array, row, offset)


def _lowest_bit(_context: Any, bits: Any) -> Any:
    """Return the place of the lowest bit that is set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        count = _function(builder, "llvm.cttz.i64", INDEX, INDEX, ir.IntType(1))
        return builder.call(count, [arguments[0], ir.Constant(ir.IntType(1), 1)])

    return types.int64(types.int64), generate


lowest_bit: Any = intrinsic(_lowest_bit)


def _lanes_at_most(_context: Any, values: Any, bound: Any) -> Any:
    """Tell by a bit which of 64 float32 are at most `bound`, so that only those need be gone through."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.FloatType(), LANES)
        data = builder.bitcast(_data(context, builder, signature, arguments, 0), vector.as_pointer())
        within = builder.fcmp_ordered("<=", builder.load(data, align=4), _everywhere(builder, arguments[1], vector))
        return builder.bitcast(within, INDEX)

    return types.int64(values, types.float32), generate


lanes_at_most: Any = intrinsic(_lanes_at_most)


def _everywhere(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector of this type with the same value in every lane."""
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(INT32, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(INT32, vector.count), None))


@njit(**COMPILE)
def lanes_within_by_loop(rows: NDArray[np.uint8], block: int, tables: NDArray[np.uint8], threshold: int) -> np.int64:
    """Look up 16 lanes of bytes in tables of 16, add up, and tell by a bit which lanes' sums are within the threshold.

    A byte stands for two places: its low half in table `row`, its high half in the table as many further on as there
    are rows. The threshold is below 255.
    """
    count, within = rows.shape[1], np.int64(0)
    for lane in range(LANES_LOOKED_UP):
        total = 0
        for row in range(count):
            both = rows[block, row, lane]
            total += tables[row, both & 15] + tables[count + row, both >> 4]
        within |= np.int64(total <= threshold) << lane
    return within


def _look_up() -> tuple[str, int]:
    """Return the name of the processor's instruction that looks bytes up in tables of 16, and for how many at once."""
    features = binding.get_host_cpu_features()
    if features.get("avx2"):
        return "llvm.x86.avx2.pshuf.b", 32
    if features.get("ssse3"):
        return "llvm.x86.ssse3.pshuf.b.128", 16
    if binding.get_process_triple().startswith(("aarch64", "arm64")):
        return "llvm.aarch64.neon.tbl1.v16i8", 16
    return "", 0


def _lanes_within(instruction: str, width: int) -> Callable[..., Any]:
    """Make the same of vector instructions; 32 bytes at once are two rows, whose sums are put together at the end."""

    def lanes_within(_context: Any, rows: Any, block: Any, tables: Any, threshold: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector, lanes = ir.VectorType(BYTE, width), ir.VectorType(BYTE, LANES_LOOKED_UP)
            look_up = _function(builder, instruction, vector, vector, vector)

            def add(one: Any, other: Any) -> Any:  # sums stay at 255
                name = f"llvm.uadd.sat.v{one.type.count}i8"
                return builder.call(_function(builder, name, one.type, one.type, one.type), [one, other])

            def load(data: Any, where: Any) -> Any:
                return builder.load(builder.bitcast(builder.gep(data, [where]), vector.as_pointer()), align=1)

            coded, table = (_data(context, builder, signature, arguments, place) for place in (0, 2))
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            size = builder.extract_value(array.strides, 0)
            begin = builder.mul(size, arguments[1])
            sums = [
                cgutils.alloca_once_value(builder, ir.Constant(vector, None))  # type: ignore[no-untyped-call]
                for _ in range(2)
            ]
            steps = builder.udiv(size, ir.Constant(INDEX, width))
            with cgutils.for_range(builder, steps) as loop:
                offset = builder.mul(loop.index, ir.Constant(INDEX, width))
                both = load(coded, builder.add(begin, offset))
                low = builder.and_(both, ir.Constant(vector, [15] * width))
                high = builder.lshr(both, ir.Constant(vector, [4] * width))
                for total, half, where in zip(sums, (low, high), (offset, builder.add(offset, size)), strict=True):
                    found = builder.call(look_up, [load(table, where), half])
                    builder.store(add(builder.load(total), found), total)
            total = add(*(builder.load(total) for total in sums))
            parts = []
            for first in range(0, width, LANES_LOOKED_UP):
                chosen = list(range(first, first + LANES_LOOKED_UP))
                mask = ir.Constant(ir.VectorType(INT32, LANES_LOOKED_UP), chosen)
                parts.append(builder.shuffle_vector(total, total, mask))
            total = parts[0] if len(parts) == 1 else add(*parts)
            within = builder.icmp_unsigned("<=", total, _everywhere(builder, builder.trunc(arguments[3], BYTE), lanes))
            return builder.zext(builder.bitcast(within, ir.IntType(LANES_LOOKED_UP)), INDEX)

        return types.int64(rows, types.int64, tables, types.int64), generate

    return lanes_within


_INSTRUCTION, _WIDTH = _look_up()
lanes_within: Any = intrinsic(_lanes_within(_INSTRUCTION, _WIDTH)) if _INSTRUCTION else lanes_within_by_loop
"""`lanes_within_by_loop`, many times as fast where the processor's instruction is known."""
