"""Frames of SPDY/3.1, as far as port-forwarding uses them.

kubectl tunnels SPDY through a WebSocket to forward ports (`SPDY/3.1+portforward.k8s.io`). Frames of flow control and
settings are skipped: neither kubectl nor the kubelet sends them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

__all__ = [
    "Data",
    "Frame",
    "FrameReader",
    "FrameWriter",
    "GoAway",
    "Ping",
    "Reset",
    "SpdyError",
    "SynReply",
    "SynStream",
]

_VERSION: Final = 3


class _Kind:
    SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9


_FIN: Final = 1
_MAX_CONTROL_BYTES: Final = 64 * 1024
_MAX_HEADER_BYTES: Final = 64 * 1024  # after decompression
_MAX_HEADERS: Final = 100
_ID_MASK: Final = 0x7FFFFFFF

# The dictionary of the specification: names of headers and methods with their lengths, then common values.
_NAMES = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_VALUES = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    names = (name.replace("_", " ").encode() for name in _NAMES.split())
    return b"".join(struct.pack(">I", len(name)) + name for name in names) + _VALUES.encode()


_DICTIONARY: Final = _dictionary()


class SpdyError(ConnectionError):
    """The other side broke the SPDY protocol, or reset a stream."""


class SynStream(NamedTuple):
    """Opens a stream."""

    stream: int
    headers: Mapping[str, str]
    fin: bool = False


class SynReply(NamedTuple):
    """Accepts a stream."""

    stream: int
    headers: Mapping[str, str]
    fin: bool = False


class Reset(NamedTuple):
    """Ends a stream with an error."""

    stream: int
    status: int


class Ping(NamedTuple):
    """Asks for the same frame in return."""

    number: int


class GoAway(NamedTuple):
    """Announces that no further stream is accepted."""

    last_stream: int
    status: int


class Data(NamedTuple):
    """A piece of a stream; `fin` ends its direction."""

    stream: int
    data: bytes
    fin: bool = False


Frame: TypeAlias = SynStream | SynReply | Reset | Ping | GoAway | Data


class FrameReader:
    """Parses frames from bytes as they arrive. Data frames are returned in the pieces in which they arrive.

    Raises `SpdyError` for a malformed frame, and for one that exceeds a limit.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._unpack = zlib.decompressobj(zdict=_DICTIONARY)
        self._data: tuple[int, int, bool] | None = None  # stream, bytes left, fin of the current data frame

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yields the frames that are complete with these bytes."""
        self._buffer += data
        while (frame := self._next()) is not None:
            if frame is not _SKIPPED:
                yield frame

    def _next(self) -> Frame | None:
        if self._data is not None:
            return self._piece(*self._data)
        if len(self._buffer) < 8:
            return None
        first, second = struct.unpack_from(">II", self._buffer)
        flags, length = second >> 24, second & 0xFFFFFF
        if not first & 0x80000000:
            del self._buffer[:8]
            return self._piece(first & _ID_MASK, length, bool(flags & _FIN))
        version, kind = first >> 16 & 0x7FFF, first & 0xFFFF
        if version != _VERSION:
            raise SpdyError(f"SPDY version {version} is not supported")
        if length > _MAX_CONTROL_BYTES:
            raise SpdyError(f"a SPDY control frame of {length} bytes exceeds {_MAX_CONTROL_BYTES} bytes")
        if len(self._buffer) < 8 + length:
            return None
        payload = bytes(self._buffer[8 : 8 + length])
        del self._buffer[: 8 + length]
        try:
            return self._control(kind, flags, payload)
        except struct.error:
            raise SpdyError(f"a SPDY control frame of type {kind} is too short") from None

    def _piece(self, stream: int, left: int, fin: bool) -> Frame | None:
        if not self._buffer and left:
            self._data = (stream, left, fin)
            return None
        data = bytes(self._buffer[:left])
        del self._buffer[: len(data)]
        left -= len(data)
        self._data = (stream, left, fin) if left else None
        return Data(stream, data, fin and not left)

    def _control(self, kind: int, flags: int, payload: bytes) -> Frame:
        fin = bool(flags & _FIN)
        match kind:
            case _Kind.SYN_STREAM:
                stream, _, _ = struct.unpack_from(">IIH", payload)
                return SynStream(stream & _ID_MASK, self._headers(payload[10:]), fin)
            case _Kind.SYN_REPLY:
                (stream,) = struct.unpack_from(">I", payload)
                return SynReply(stream & _ID_MASK, self._headers(payload[4:]), fin)
            case _Kind.RST_STREAM:
                stream, status = struct.unpack_from(">II", payload)
                return Reset(stream & _ID_MASK, status)
            case _Kind.PING:
                return Ping(*struct.unpack_from(">I", payload))
            case _Kind.GOAWAY:
                last, status = struct.unpack_from(">II", payload)
                return GoAway(last & _ID_MASK, status)
            case _Kind.HEADERS:
                (stream,) = struct.unpack_from(">I", payload)
                self._headers(payload[4:])  # its block changes the state of the compression
                return Data(stream & _ID_MASK, b"", fin) if fin else _SKIPPED
            case _Kind.SETTINGS | _Kind.WINDOW_UPDATE:
                return _SKIPPED
            case _:
                raise SpdyError(f"SPDY control frames of type {kind} are not known")

    def _headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._unpack.decompress(block, _MAX_HEADER_BYTES)
        except zlib.error as error:
            raise SpdyError(f"a SPDY header block cannot be decompressed: {error}") from None
        if self._unpack.unconsumed_tail:
            raise SpdyError(f"a SPDY header block exceeds {_MAX_HEADER_BYTES} bytes")
        (count,) = struct.unpack_from(">I", plain)
        if count > _MAX_HEADERS:
            raise SpdyError(f"a SPDY frame has more than {_MAX_HEADERS} headers")
        texts, offset = [], 4
        for _ in range(2 * count):
            (length,) = struct.unpack_from(">I", plain, offset)
            text = plain[offset + 4 : offset + 4 + length]
            if len(text) < length:
                raise SpdyError("a SPDY header block is too short")
            texts.append(text.decode("utf-8", "replace"))
            offset += 4 + length
        return dict(zip((name.lower() for name in texts[::2]), texts[1::2], strict=True))


# Takes the place of frames that have no meaning here.
_SKIPPED: Final[Frame] = Ping(-1)


class FrameWriter:
    """Encodes frames, in the order in which they are sent: the compression of headers has a state."""

    def __init__(self) -> None:
        self._pack = zlib.compressobj(zdict=_DICTIONARY)

    def encode(self, frame: Frame) -> bytes:
        """Returns the bytes of a frame. The data of one frame is less than 16 MiB."""
        match frame:
            case Data(stream, data, fin):
                return struct.pack(">II", stream, (_FIN << 24 if fin else 0) | len(data)) + data
            case SynStream(stream, headers, fin):
                return _control(_Kind.SYN_STREAM, fin, struct.pack(">IIH", stream, 0, 0) + self._headers(headers))
            case SynReply(stream, headers, fin):
                return _control(_Kind.SYN_REPLY, fin, struct.pack(">I", stream) + self._headers(headers))
            case Reset(stream, status):
                return _control(_Kind.RST_STREAM, False, struct.pack(">II", stream, status))
            case Ping(number):
                return _control(_Kind.PING, False, struct.pack(">I", number))
            case GoAway(last, status):
                return _control(_Kind.GOAWAY, False, struct.pack(">II", last, status))

    def _headers(self, headers: Mapping[str, str]) -> bytes:
        texts = [text.encode() for name, value in headers.items() for text in (name.lower(), value)]
        plain = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(text)) + text for text in texts)
        return self._pack.compress(plain) + self._pack.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: int, fin: bool, payload: bytes) -> bytes:
    return struct.pack(">HHI", 0x8000 | _VERSION, kind, (_FIN << 24 if fin else 0) | len(payload)) + payload
