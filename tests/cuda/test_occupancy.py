"""Occupancy as NVIDIA's own calculator gives it, and the counting of PTX on loops that were counted by hand."""

import pytest

from .occupancy import blocks_held, is_halved, occupancy
from .streams import Stream, stream


# From the occupancy calculator of Nsight Compute: threads, shared memory of a block, registers, occupancy.
@pytest.mark.parametrize("capability, threads, shared, registers, expected", [
    ((8, 0), 256, 0, 32, 1.0), ((8, 0), 256, 0, 33, 0.75), ((8, 0), 256, 0, 64, 0.5), ((8, 0), 256, 0, 128, 0.25),
    ((8, 0), 256, 0, 255, 0.125), ((8, 0), 1024, 0, 32, 1.0), ((8, 0), 1024, 0, 40, 0.5), ((8, 0), 32, 0, 16, 0.5),
    ((8, 0), 256, 48 * 1024, 32, 0.375), ((7, 5), 256, 0, 64, 1.0), ((7, 5), 256, 0, 128, 0.5),
    ((7, 5), 64, 0, 16, 1.0), ((9, 0), 256, 48 * 1024, 32, 0.5), ((9, 0), 128, 0, 168, 0.1875)])
def test_occupancy_is_that_of_the_calculator(capability, threads, shared, registers, expected):
    assert occupancy(capability, threads, shared, registers) == expected


def test_registers_halve_what_shared_memory_leaves():
    assert is_halved((8, 0), 256, 0, 64) and not is_halved((8, 0), 256, 0, 48)
    assert blocks_held((8, 0), 256, 48 * 1024) == 3 and not is_halved((8, 0), 256, 48 * 1024, 64)


LOOP = """
    ld.global.f32   %f9, [%rd1];
$L__BB0_2:
    ld.global.v4.f32    {%f1, %f2, %f3, %f4}, [%rd3];
    @%p2 ld.global.nc.u16   %rs1, [%rd3];
    fma.rn.f32  %f5, %f1, %f2, %f3;
    mul.f32     %f6, %f1, %f2;
    ex2.approx.ftz.f32  %f7, %f6;
    @%p1 bra    $L__BB0_3;
    add.s64     %rd3, %rd3, %rd4;
$L__BB0_3:
    st.global.v2.f32    [%rd5], {%f5, %f6};
    setp.lt.s64     %p6, %rd62, %rd33;
    @%p6 bra    $L__BB0_2;
    st.global.f32   [%rd5], %f5;
    ret;
"""


def test_a_loop_is_counted_for_each_element_that_it_stores():
    assert stream(LOOP, 4) == Stream(loads=1, stores=0.5, loaded=9, stored=4, flops=2, widest=16)
    assert stream("ret;", 4) is None
