"""Vectors from a model on this disk: a folder as sentence-transformers writes it, with the model in ONNX.

    model.onnx, or onnx/model.onnx         the network; a quantised one where there is no other
    tokenizer.json                         how text becomes its tokens
    1_Pooling/config.json                  how the vectors of tokens become one (without it: their mean)
    config_sentence_transformers.json      what stands before a question and before a document
    sentence_bert_config.json, tokenizer_config.json, config.json
                                           how many tokens it reads

Texts are run one at a time: no padding changes a vector then, so that a text has the same row whatever stood beside
it, and on processors it costs no more (MiniLM, 250 tokens: 84 ms of one core a text, 102 ms in batches of 16).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from codecairn.embed.encoder import Passage, Row, Rows, passage_text, quantise, readable
from codecairn.errors import EncoderFailed

MOST_TOKENS = 1024
"""Of one text, whatever the model takes: what attention costs grows with the square."""
_USUAL_TOKENS = 512
_SAMPLE = 1 << 20
"""Bytes of each end of a file that tell it from another."""
_POOLED = "sentence_embedding"
_PADDED_POSITIONS = ("roberta", "camembert", "mpnet")
"""Models whose positions begin behind the number of the padding token."""


class Reading(NamedTuple):
    """How a model's text goes in and its vector comes out."""

    pooling: str
    most_tokens: int
    before_query: str
    before_passage: str
    has_more_layers: bool
    """Whether layers that are not in the network follow the pooling."""


class FolderEncoder:
    """Nothing is read, and nothing found wrong, before something is to be encoded or the name asked for."""

    is_quick = False
    reads_text = True
    near = 0.0

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opening = threading.Lock()

    @cached_property
    def name(self) -> str:
        digest = hashlib.sha256(repr(self._reading).encode())
        for path in (*_network_files(self._network), self._tokenizer):
            for part in _sample(path):
                digest.update(part)
        return f"{self._folder.resolve().name}#{digest.hexdigest()[:12]}"

    @cached_property
    def dimensions(self) -> int:
        return len(self._vector("dimensions"))

    def passages(self, passages: Sequence[Passage]) -> Rows:
        before = self._reading.before_passage
        vectors = [self._vector(before + passage_text(each)) for each in passages]
        return quantise(np.stack(vectors)) if vectors else np.zeros((0, self.dimensions), np.int8)

    def query(self, text: str) -> Row:
        return quantise(self._vector(self._reading.before_query + readable(text)))

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        with self._opening:
            model = self._model
        return model.vector(text)

    @cached_property
    def _model(self) -> _Model:
        return _Model(self._network, self._tokenizer, self._reading)

    @cached_property
    def _reading(self) -> Reading:
        return reading_of(self._folder)

    @cached_property
    def _network(self) -> Path:
        return network_in(self._folder)

    @cached_property
    def _tokenizer(self) -> Path:
        path = self._folder / "tokenizer.json"
        if not path.is_file():
            raise _unusable(self._folder, "has no tokenizer.json")
        return path


class _Model:
    """The network and its tokenizer, in memory."""

    def __init__(self, network: Path, tokenizer: Path, reading: Reading) -> None:
        self._folder, self._reading = tokenizer.parent, reading
        self._runtime = _import("onnxruntime")
        self._tokens = self._open_tokenizer(tokenizer)
        self._session = self._open_network(network)
        self._inputs = {
            each.name: np.int32 if "int32" in each.type else np.int64 for each in self._session.get_inputs()
        }
        strange = self._inputs.keys() - {"input_ids", "attention_mask", "token_type_ids"}
        if strange or "input_ids" not in self._inputs:
            raise _unusable(self._folder, f"wants what an encoder of text has not ({', '.join(sorted(strange))})")
        outputs = [each.name for each in self._session.get_outputs()]
        self._output = _POOLED if _POOLED in outputs else outputs[0]
        if reading.has_more_layers and self._output != _POOLED:
            raise _unusable(self._folder, f"has layers outside its network, which has no output {_POOLED}")

    def vector(self, text: str) -> npt.NDArray[np.float32]:
        ids = np.array([self._tokens.encode(text).ids or [0]])
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            found = self._session.run(
                [self._output], {name: given[name].astype(at) for name, at in self._inputs.items()}
            )
        except self._complaints as error:
            raise _unusable(self._folder, f"cannot be run: {error}") from error
        return self._pool(np.asarray(found[0], np.float32)[0])

    def _pool(self, states: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        if states.ndim == 1:
            return states
        if self._reading.pooling == "mean":
            return np.asarray(states.mean(axis=0), np.float32)
        return np.asarray(states[0 if self._reading.pooling == "cls" else -1])

    def _open_tokenizer(self, path: Path) -> Any:
        try:
            tokens = _import("tokenizers").Tokenizer.from_buffer(path.read_bytes())
        except (OSError, ValueError) as error:
            raise _unusable(self._folder, f"has a tokenizer.json that cannot be read: {error}") from error
        tokens.no_padding()
        tokens.enable_truncation(self._reading.most_tokens)
        return tokens

    def _open_network(self, path: Path) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = max(1, (os.cpu_count() or 1) // 2)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            return self._runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except self._complaints as error:
            raise _unusable(self._folder, f"has a model that cannot be opened: {error}") from error

    @cached_property
    def _complaints(self) -> tuple[type[Exception], ...]:
        """The errors of onnxruntime, which have no base of their own."""
        state = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
        named = (each for each in vars(state).values() if isinstance(each, type) and issubclass(each, Exception))
        return (*named, ValueError, RuntimeError)


def network_in(folder: Path) -> Path:
    """The whole model before a quantised one, and that before any other, so that it is the same one every time."""
    for name in ("model.onnx", "model_quantized.onnx", "model_*.onnx", "*.onnx"):
        for place in (folder, folder / "onnx"):
            found = sorted(path for path in place.glob(name) if path.is_file())
            if found:
                return found[0]
    raise _unusable(folder, "has no ONNX model" if folder.is_dir() else "is not there")


def reading_of(folder: Path) -> Reading:
    modules = _modules(folder)
    prompts, usual = _prompts(_settings(folder / "config_sentence_transformers.json"))
    return Reading(
        pooling=_pooling(folder, modules.get("Pooling", "1_Pooling")),
        most_tokens=_most_tokens(folder),
        before_query=prompts.get("query", usual),
        before_passage=prompts.get("document", prompts.get("passage", usual)),
        has_more_layers=bool(modules.keys() - {"Transformer", "Pooling", "Normalize"}),
    )


def _modules(folder: Path) -> dict[str, str]:
    """The layers of a model and the folder of each, by their kind."""
    listed = _json(folder / "modules.json")
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return {str(row.get("type", "")).rpartition(".")[2]: str(row.get("path", "")) for row in rows}


def _prompts(settings: dict[str, Any]) -> tuple[dict[str, str], str]:
    given = settings.get("prompts")
    prompts = {name: text for name, text in given.items() if isinstance(text, str)} if isinstance(given, dict) else {}
    return prompts, prompts.get(str(settings.get("default_prompt_name")), "")


def _pooling(folder: Path, place: str) -> str:
    settings = _settings(folder / place / "config.json")
    modes = [name for name, wanted in settings.items() if name.startswith("pooling_mode_") and wanted is True]
    named = settings.get("pooling_mode")
    wanted = [named] if isinstance(named, str) else [name.removeprefix("pooling_mode_") for name in modes]
    known = {"mean_tokens": "mean", "mean": "mean", "cls_token": "cls", "cls": "cls", "lasttoken": "lasttoken"}
    if len(wanted) > 1 or not set(wanted) <= known.keys():
        raise _unusable(folder, f"pools its tokens in a way not known here ({', '.join(wanted)})")
    return known[wanted[0]] if wanted else "mean"


def _most_tokens(folder: Path) -> int:
    network = _settings(folder / "config.json")
    is_padded = any(kind in str(network.get("model_type", "")) for kind in _PADDED_POSITIONS)
    padding = _number(network.get("pad_token_id")) if is_padded else None
    positions = _number(network.get("max_position_embeddings"))
    limits = [
        positions - (padding + 1 if padding is not None else 0) if positions else None,
        _number(_settings(folder / "sentence_bert_config.json").get("max_seq_length")),
        _number(_settings(folder / "tokenizer_config.json").get("model_max_length")),
    ]
    return max(8, min(MOST_TOKENS, *(limit for limit in limits if limit))) if any(limits) else _USUAL_TOKENS


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e9 else None


def _settings(path: Path) -> dict[str, Any]:
    value = _json(path)
    return value if isinstance(value, dict) else {}


def _json(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unusable(path.parent, f"has a {path.name} that cannot be read: {error}") from error


def _network_files(network: Path) -> list[Path]:
    """With the files that hold the numbers of a network too large for one."""
    return [network, *sorted(path for path in network.parent.glob(f"{network.name}?data*") if path.is_file())]


def _sample(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            yield str(size).encode()
            for at in (0, max(0, size - _SAMPLE)):
                file.seek(at)
                yield file.read(_SAMPLE)
    except OSError as error:
        raise _unusable(path.parent, f"has a {path.name} that cannot be read: {error.strerror}") from error


def _import(module: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError as error:
        raise EncoderFailed(
            f"A folder with a model needs {module}, which cannot be imported: {error}",
            remedy="Run pip install 'codecairn[onnx]'.",
        ) from error


def _unusable(folder: Path, why: str) -> EncoderFailed:
    return EncoderFailed(
        f"The model folder {folder.name} {why}",
        remedy="Set CAIRN_EMBEDDINGS to a sentence-transformers folder with model.onnx and tokenizer.json.",
    )
