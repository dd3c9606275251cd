"""Sums over windows and their gradient, which spreads every result over its window; see pooling.py for the steps.

Sums and gradients of a row depend on neither threads nor tiles: every element is made by the same additions in order.
"""

from ..intrinsics import mark_kernel
from .pooling import ROOM, TILE, rounded, store
from .typed import block, clear, convert, out_of_line, plus, scalar, shift, stack_like


@block
def sum_run(x, count):
    """The sum of neighbours."""
    mark_kernel()
    out_of_line()
    total = convert(x, 0)
    for i in range(count):
        total = plus(total, x[i])
    return total


def spread_whole(start, stop, g, out, line_cells, window_cells, size):
    """Unit: a plane of `size` elements, the gradient of its average."""
    mark_kernel()
    by = line_cells[0] * window_cells[0]
    for unit in range(start, stop):
        share, target = g[unit] / by, shift(out, unit * size)
        for i in range(size):
            target[i] = share


def average_each(start, stop, x, out, line_cells, window_cells, plane_size, rows, width, line_starts, lines, firsts,
                 taps):
    """Unit: a plane of `rows` rows of `width` averages.

    Row r reads lines[line_starts[r] : line_starts[r + 1]], which are offsets in the plane; window j of a row reads
    taps[j] cells from firsts[j] on. Sums are divided by line_cells[row] * window_cells[j].
    """
    mark_kernel()
    for unit in range(start, stop):
        plane, target = shift(x, unit * plane_size), shift(out, unit * rows * width)
        for row in range(rows):
            for j in range(width):
                total = convert(x, 0)
                for i in range(line_starts[row], line_starts[row + 1]):
                    total += sum_run(shift(plane, lines[i] + firsts[j]), taps[j])
                target[row * width + j] = total / (line_cells[row] * window_cells[j])


def spread_each(start, stop, g, out, line_cells, window_cells, plane_size, rows, width, line_starts, lines, firsts,
                taps):
    """Unit: a plane of the gradient of average_each."""
    mark_kernel()
    for unit in range(start, stop):
        plane, source = shift(out, unit * plane_size), shift(g, unit * rows * width)
        clear(plane, plane_size)
        for row in range(rows):
            for j in range(width):
                share = source[row * width + j] / (line_cells[row] * window_cells[j])
                for i in range(line_starts[row], line_starts[row + 1]):
                    target = shift(plane, lines[i] + firsts[j])
                    for k in range(taps[j]):
                        target[k] += share


# --------------------------------------------------------------------------------------------- joined rows
@scalar
def add_lines(plane, lines, count, left, span, total):
    """total = the sums of columns over lines."""
    a, first = shift(plane, lines[0] + left), 1
    if count == 1:
        store(a, total, span)
    elif count == 2:
        first, b = 2, shift(plane, lines[1] + left)
        for j in range(span):
            total[j] = a[j] + b[j]
    else:
        first, b, c = 3, shift(plane, lines[1] + left), shift(plane, lines[2] + left)
        for j in range(span):
            total[j] = a[j] + b[j] + c[j]
    for i in range(first, count):
        line = shift(plane, lines[i] + left)
        for j in range(span):
            total[j] += line[j]


@scalar
def add_taps(line, taps, stride, step, span, total):
    """total[j] = the sum of `taps` elements, `step` apart, from line[j * stride] on."""
    b, c, first = shift(line, step), shift(line, 2 * step), 1
    if taps == 1:
        for j in range(span):
            total[j] = line[j * stride]
    elif taps == 2:
        first = 2
        for j in range(span):
            total[j] = line[j * stride] + b[j * stride]
    else:
        first = 3
        for j in range(span):
            total[j] = line[j * stride] + b[j * stride] + c[j * stride]
    for k in range(first, taps):
        more = shift(line, k * step)
        for j in range(span):
            total[j] += more[j * stride]


@block
def add_windows(line, taps, stride, step, span, total):
    """As add_taps; the common strides are constants, which vectors need."""
    mark_kernel()
    out_of_line()
    if stride == 1:
        add_taps(line, taps, 1, step, span, total)
    elif stride == 2:
        add_taps(line, taps, 2, step, span, total)
    else:
        add_taps(line, taps, stride, step, span, total)


@scalar
def add_each(line, width, firsts, taps, total):
    """total[j] = the sum of a window that follows no common step."""
    for j in range(width):
        value = line[firsts[j]]
        for k in range(firsts[j] + 1, firsts[j] + taps[j]):
            value += line[k]
        total[j] = value


@block
def add_rows(plane, room, starts, lines, many, left, need, size, pitch, line):
    """The sums of the lines of `many` rows, `pitch` elements apart; room: elements of x from the plane on."""
    mark_kernel()
    out_of_line()
    begin, end = max(left, 0), min(left + need, size)
    for i in range(many):
        here, count, joined = shift(lines, starts[i]), starts[i + 1] - starts[i], shift(line, i * pitch)
        span = rounded(end - begin)
        span = span if here[count - 1] + begin + span <= room else end - begin
        clear(joined, begin - left)
        add_lines(plane, here, count, begin, span, shift(joined, begin - left))
        clear(shift(joined, end - left), need - (end - left))


@block
def divide_rows(sums, many, step, line_cells, cells, width, results, out):
    """out = rows of sums, `step` elements apart, divided by the cells of their windows."""
    mark_kernel()
    out_of_line()
    for i in range(many):
        source, target, by = shift(sums, i * step), shift(out, i * width), line_cells[i]
        for j in range(results):
            target[j] = source[j] / (by * cells[j])


def average_slide(start, stop, x, out, line_cells, window_cells, plane_size, total, rows, width, line_starts, lines,
                  firsts, counts, size, taps, stride, low, tile, pitch, chunk, bands, band):
    """Unit: `band` of the rows of a plane. As average_each, where window j of a row begins `low` before j * stride;
    stride 0 says that it does not.

    size: elements of a line. total: of x. tile: results of a row at a time, whose windows fit into `pitch` elements.
    chunk: rows at a time, if a tile is a row.
    """
    mark_kernel()
    line, sums = stack_like(x, ROOM), stack_like(x, TILE)
    step = pitch // stride if stride > 0 else width
    for unit in range(start, stop):
        number, row = unit // bands, unit % bands * band
        plane, last = shift(x, number * plane_size), min(row + band, rows)
        while row < last:
            many, j, starts = min(chunk, last - row), 0, shift(line_starts, row)
            while j < width:
                results = min(tile, width - j)
                need = (results - 1) * stride + taps
                add_rows(plane, total - number * plane_size, starts, lines, many, j * stride - low, need, size, pitch,
                         line)
                if stride > 0:
                    add_windows(line, taps, stride, 1, rounded((many - 1) * step + results), sums)
                else:
                    for i in range(many):
                        add_each(shift(line, i * pitch), width, firsts, counts, shift(sums, i * step))
                target = shift(out, (number * rows + row) * width + j)
                divide_rows(sums, many, step, shift(line_cells, row), shift(window_cells, j), width, results, target)
                j += tile
            row += many


# ---------------------------------------------------------------------------------------------- the way back
@scalar
def add_shares(g, rows, count, width, first, line_cells, cells, span, total):
    """total = what `span` windows of the rows' gradients pass on to a line, each of its cells; 0 beyond the width."""
    begin, end = max(0, -first), min(span, width - first)
    clear(total, begin)
    for i in range(count):
        source, by = shift(g, rows[i] * width + first), line_cells[rows[i]]
        if i == 0:
            for j in range(begin, end):
                total[j] = source[j] / (by * cells[first + j])
        else:
            for j in range(begin, end):
                total[j] += source[j] / (by * cells[first + j])
    start = begin if count == 0 else max(end, begin)
    clear(shift(total, start), span - start)


@block
def share_lines(g, starts, numbers, many, width, first, line_cells, cells, span, total):
    """The shares of `many` lines, `span` elements each."""
    mark_kernel()
    out_of_line()
    for i in range(many):
        add_shares(g, shift(numbers, starts[i]), starts[i + 1] - starts[i], width, first, line_cells, cells, span,
                   shift(total, i * span))


@scalar
def lay_out(phases, stride, tile, count, line):
    """line[j * stride + p] = element j of phase p."""
    for p in range(stride):
        source, target = shift(phases, p * tile), shift(line, p)
        for j in range(count):
            target[j * stride] = source[j]


@block
def interleave(phases, stride, tile, count, line):
    """The phases of a line, `tile` elements apart, laid out in it."""
    mark_kernel()
    out_of_line()
    if stride == 1:
        store(phases, line, count)
    elif stride == 2:
        other = shift(phases, tile)
        for j in range(count):
            line[2 * j], line[2 * j + 1] = phases[j], other[j]
    else:
        lay_out(phases, stride, tile, count, line)


@scalar
def gather_phases(shares, ahead, taps, stride, tile, span, phases):
    """Phase p of element j = the sum of shares[ahead + j - m] over taps p + m * stride of a window."""
    for p in range(stride):
        parts = (taps - p + stride - 1) // stride
        target = shift(phases, p * tile)
        if parts > 0:
            add_windows(shift(shares, ahead - parts + 1), parts, 1, 1, span, target)
        else:
            clear(target, span)


@block
def store_lines(line, many, pitch, size, count, target):
    """Parts of `many` lines, `pitch` elements apart, to lines of `size`."""
    mark_kernel()
    out_of_line()
    for i in range(many):
        store(shift(line, i * pitch), shift(target, i * size), count)


@block
def spread_shares(shares, many, width, firsts, taps, size, target):
    """Lines of windows that follow no common step."""
    mark_kernel()
    out_of_line()
    for i in range(many):
        line, share = shift(target, i * size), shift(shares, i * width)
        clear(line, size)
        for j in range(width):
            for k in range(firsts[j], firsts[j] + taps[j]):
                line[k] += share[j]


def spread_slide(start, stop, g, out, line_cells, window_cells, rows, width, lines_of, row_starts, row_numbers, firsts,
                 counts, size, taps, stride, low, tile, chunk, bands, band):
    """Unit: `band` of the lines of a plane of the gradient of average_slide.

    lines_of: lines of a plane. Line i is read by the rows row_numbers[row_starts[i] : row_starts[i + 1]]. tile: cells
    of one phase of the stride at a time, so that tile * stride fits into BUFFER elements. chunk: lines at a time, if
    all their cells are a tile.
    """
    mark_kernel()
    shares, phases, line = stack_like(g, ROOM), stack_like(g, ROOM), stack_like(g, ROOM)
    ahead = (taps - 1) // stride if stride > 0 else 0
    for unit in range(start, stop):
        number, first = unit // bands, unit % bands * band
        source, last = shift(g, number * rows * width), min(first + band, lines_of)
        while first < last:
            many, q, starts = min(chunk, last - first), 0, shift(row_starts, first)
            target = shift(out, (number * lines_of + first) * size)
            if stride == 0:
                share_lines(source, starts, row_numbers, many, width, 0, line_cells, window_cells, width, shares)
                spread_shares(shares, many, width, firsts, counts, size, target)
            while stride > 0 and q * stride < size + low:
                cells = min(tile, (size + low - q * stride + stride - 1) // stride)
                span = cells + ahead
                share_lines(source, starts, row_numbers, many, width, q - ahead, line_cells, window_cells, span, shares)
                whole = (many - 1) * span + cells
                gather_phases(shares, ahead, taps, stride, tile, rounded(whole), phases)
                interleave(phases, stride, tile, whole, line)
                left = q * stride - low
                begin, end = max(left, 0), min(left + cells * stride, size)
                store_lines(shift(line, begin - left), many, span * stride, size, end - begin, shift(target, begin))
                q += tile
            first += many
