"""Reading object files: which machine one is for and which symbols it leaves to the linker.

Formats: System V ABI (ELF64), Apple's <mach-o/nlist.h> (Mach-O, 64 bit), Microsoft's PE/COFF specification.
"""
import struct
from typing import NamedTuple

# What LLVM may call by itself: no libm, no Python, nothing of Numba's run time.
ALLOWED = {
    "elf": {"memset", "memcpy", "memmove"},
    "macho": {"memset", "memcpy", "memmove", "bzero", "__bzero", "memset_pattern16"},
    "coff": {"memset", "memcpy", "memmove", "__chkstk", "_fltused"},
}
ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
MACHO_MACHINES = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
COFF_MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64"}
MACHO_MAGIC = 0xFEEDFACF


class ObjectError(ValueError):
    """This is not an object file of a known format."""


class ObjectFile(NamedTuple):
    """What an object file says of itself."""

    format: str
    machine: str
    undefined: frozenset[str]

    def foreign_symbols(self) -> list[str]:
        """Undefined symbols outside the allow-list of the format."""
        return sorted(self.undefined - ALLOWED[self.format])


def read(code: bytes) -> ObjectFile:
    """Format, machine and undefined symbols of an object file; ObjectError when it has none of the known formats."""
    try:
        if code[:6] == b"\x7fELF\x02\x01":
            return ObjectFile("elf", ELF_MACHINES[struct.unpack_from("<H", code, 18)[0]], frozenset(_elf(code)))
        if code[:4] == struct.pack("<I", MACHO_MAGIC):
            return ObjectFile("macho", MACHO_MACHINES[struct.unpack_from("<I", code, 4)[0]], frozenset(_macho(code)))
        return ObjectFile("coff", COFF_MACHINES[struct.unpack_from("<H", code)[0]], frozenset(_coff(code)))
    except (KeyError, IndexError, ValueError, struct.error) as error:
        raise ObjectError("not an object file for x86_64 or aarch64 in ELF, Mach-O or COFF") from error


def _text(code, start):
    """The zero-terminated name at an offset."""
    return code[start:code.index(b"\0", start)].decode()


def _elf(code):
    (sections_at,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, sections_at + i * size) for i in range(count)]
    for _, kind, _, _, offset, length, strings, *_ in sections:
        if kind == 2:                                                     # SHT_SYMTAB
            for at in range(offset, offset + length, 24):
                name, _, _, section = struct.unpack_from("<IBBH", code, at)
                if name and section == 0:                                 # SHN_UNDEF
                    yield _text(code, sections[strings][4] + name)


def _macho(code):
    (commands,) = struct.unpack_from("<I", code, 16)
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        if command == 2:                                                  # LC_SYMTAB
            symbols, count, strings, _ = struct.unpack_from("<4I", code, at + 8)
            for entry in range(symbols, symbols + 16 * count, 16):
                name, kind, _, _, value = struct.unpack_from("<IBBHQ", code, entry)
                # External, not for the debugger, in no section; a value is the size of a common symbol.
                if kind & 0xEF == 1 and value == 0:
                    yield _text(code, strings + name).removeprefix("_")
        at += size


def _coff(code):
    _, _, _, symbols, count = struct.unpack_from("<HHIII", code)
    strings, number = symbols + 18 * count, 0
    while number < count:
        at = symbols + 18 * number
        zeros, name = struct.unpack_from("<II", code, at)
        value, section, _, storage, extra = struct.unpack_from("<IhHBB", code, at + 8)
        # External or weak external, in no section; a value is the size of a common symbol.
        if section == 0 and storage in (2, 105) and value == 0:
            yield code[at:at + 8].rstrip(b"\0").decode() if zeros else _text(code, strings + name)
        number += 1 + extra
