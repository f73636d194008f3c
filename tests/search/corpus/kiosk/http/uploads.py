"""Pictures that customers send: checked by their first bytes, never by their name."""

from pathlib import Path

LARGEST_UPLOAD = 5 * 1024 * 1024
_MAGIC = {b"\x89PNG\r\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}


class UploadTooLarge(ValueError):
    pass


class UnsupportedImage(ValueError):
    pass


def image_type(head: bytes) -> str:
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    raise UnsupportedImage("not a PNG, JPEG or GIF")


def store_upload(folder: Path, name: str, content: bytes) -> Path:
    """Write a picture under a name of our own; what the client calls it is not trusted."""
    if len(content) > LARGEST_UPLOAD:
        raise UploadTooLarge(f"{len(content)} bytes")
    target = folder / f"{abs(hash(content)):x}.{image_type(content)}"
    target.write_bytes(content)
    return target
