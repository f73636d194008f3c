"""A model folder: what is read of it, what is refused, and, where the runtime is installed, a small network run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from codecairn.embed.encoder import Passage, quantise
from codecairn.embed.onnx_folder import MOST_TOKENS, FolderEncoder, network_in, reading_of
from codecairn.errors import EncoderFailed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "stack", "queue", "push", "pop", "find", "code"]
TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
    "padding": {
        "strategy": {"Fixed": 12},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    },
    "added_tokens": [],
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
        },
    },
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {word: at for at, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
}
"""With padding and truncation left in it, as published tokenizers have them: neither may show in a vector."""

TABLE = np.random.default_rng(7).normal(size=(len(WORDS), 6)).astype(np.float32)


def put(folder: Path, **files: Any) -> Path:
    """A folder with JSON files, by their path with `__` for the slash."""
    for name, value in files.items():
        path = folder / (name.replace("__", "/") + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny-model").mkdir()
    return put(tmp_path / "tiny-model", tokenizer=TOKENIZER)


def test_a_folder_with_nothing_said_is_read_by_the_mean_of_512_tokens(folder: Path) -> None:
    reading = reading_of(folder)
    assert (reading.pooling, reading.most_tokens) == ("mean", 512)
    assert (reading.before_query, reading.before_passage) == ("", "")


@pytest.mark.parametrize(
    ("settings", "pooling"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        ({"pooling_mode": "cls"}, "cls"),
    ],
)
def test_pooling_is_as_the_folder_says(folder: Path, settings: dict[str, Any], pooling: str) -> None:
    assert reading_of(put(folder, **{"1_Pooling__config": settings})).pooling == pooling


def test_pooling_is_where_the_list_of_modules_says(folder: Path) -> None:
    kinds = {"": "Transformer", "1_P": "Pooling", "2_Normalize": "Normalize"}
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds.items()]
    put(folder, modules=modules, **{"1_P__config": {"pooling_mode_cls_token": True}})
    assert reading_of(folder).pooling == "cls"
    assert not reading_of(folder).has_more_layers


@pytest.mark.parametrize(
    "settings", [{"pooling_mode_max_tokens": True}, {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}]
)
def test_pooling_that_is_not_known_is_refused(folder: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(EncoderFailed, match="pools its tokens"):
        reading_of(put(folder, **{"1_Pooling__config": settings}))


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({"sentence_bert_config": {"max_seq_length": 256}, "config": {"max_position_embeddings": 512}}, 256),
        ({"config": {"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}}, 512),
        ({"config": {"max_position_embeddings": 8192, "model_type": "nomic_bert"}}, MOST_TOKENS),
        ({"tokenizer_config": {"model_max_length": 128}, "sentence_bert_config": {"max_seq_length": None}}, 128),
        ({"tokenizer_config": {"model_max_length": 1e30}}, 512),
    ],
)
def test_a_text_has_as_many_tokens_as_the_strictest_file_says(folder: Path, files: dict[str, Any], most: int) -> None:
    assert reading_of(put(folder, **files)).most_tokens == most


@pytest.mark.parametrize(
    ("settings", "query", "passage"),
    [
        ({"prompts": {"query": "query: ", "document": "doc: "}}, "query: ", "doc: "),
        ({"prompts": {"query": "query: ", "passage": "text: "}}, "query: ", "text: "),
        ({"prompts": {"query": "ask: ", "any": "any: "}, "default_prompt_name": "any"}, "ask: ", "any: "),
        ({"prompts": {}, "default_prompt_name": None}, "", ""),
        ({"prompts": None}, "", ""),
    ],
)
def test_prompts_stand_before_texts(folder: Path, settings: dict[str, Any], query: str, passage: str) -> None:
    reading = reading_of(put(folder, config_sentence_transformers=settings))
    assert (reading.before_query, reading.before_passage) == (query, passage)


def test_the_whole_model_is_taken_before_a_quantised_one(folder: Path) -> None:
    (folder / "onnx").mkdir()
    for name in ("model_qint8_avx512.onnx", "model_quantized.onnx", "onnx/model.onnx", "model.onnx"):
        (folder / name).write_bytes(b"model")
        assert network_in(folder) == folder / name


def test_a_folder_without_a_model_says_so_whatever_is_asked_of_it(folder: Path) -> None:
    encoder = FolderEncoder(folder)
    for ask in (lambda: encoder.name, lambda: encoder.dimensions, lambda: encoder.query("stack")):
        with pytest.raises(EncoderFailed, match="no ONNX model") as refused:
            ask()
    assert "CAIRN_EMBEDDINGS" in refused.value.remedy
    with pytest.raises(EncoderFailed, match="is not there"):
        _ = FolderEncoder(folder / "nowhere").name


def test_a_folder_without_a_tokenizer_says_so(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"model")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(EncoderFailed, match=r"no tokenizer\.json"):
        _ = FolderEncoder(folder).name


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000], ids=["half", "not UTF-8", "deep"])
def test_settings_that_cannot_be_read_are_named(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    with pytest.raises(EncoderFailed, match=r"config\.json that cannot be read"):
        reading_of(folder)


def test_a_name_tells_models_and_ways_of_reading_apart(folder: Path) -> None:
    names = set()
    for content in (b"one", b"two", b"x" * (3 << 20), b"x" * (3 << 20) + b"y"):
        (folder / "model.onnx").write_bytes(content)
        assert FolderEncoder(folder).name == FolderEncoder(folder).name
        names.add(FolderEncoder(folder).name)
    (folder / "model.onnx_data").write_bytes(b"numbers kept apart")
    names.add(FolderEncoder(folder).name)
    put(folder, config_sentence_transformers={"prompts": {"document": "text: "}})
    names.add(FolderEncoder(folder).name)
    assert len(names) == 6
    assert {name.partition("#")[0] for name in names} == {"tiny-model"}


def test_without_the_runtime_the_remedy_names_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "model.onnx").write_bytes(b"model")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    encoder = FolderEncoder(folder)
    assert encoder.name
    with pytest.raises(EncoderFailed, match="onnxruntime") as refused:
        encoder.query("stack")
    assert "codecairn[onnx]" in refused.value.remedy


def write_network(path: Path, *, outputs: tuple[str, ...] = ("last_hidden_state",), extra: str = "") -> None:
    """A network of one layer: each token's row of TABLE, and for a pooled output twice the row of the first."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    onnx = pytest.importorskip("onnx")
    make, kinds = onnx.helper, onnx.TensorProto
    inputs = [name for name in ("input_ids", "attention_mask", "token_type_ids", extra) if name]
    ends = {"last_hidden_state": ["batch", "tokens", 6], "sentence_embedding": ["batch", 6]}
    graph = make.make_graph(
        [
            make.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"]),
            make.make_node("Gather", ["last_hidden_state", "first"], ["one"], axis=1),
            make.make_node("Add", ["one", "one"], ["sentence_embedding"]),
        ],
        "tiny",
        [make.make_tensor_value_info(name, kinds.INT64, ["batch", "tokens"]) for name in inputs],
        [make.make_tensor_value_info(name, kinds.FLOAT, ends[name]) for name in outputs],
        [onnx.numpy_helper.from_array(TABLE, "table"), onnx.numpy_helper.from_array(np.array(1), "first")],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(model.SerializeToString())


def states(text: str) -> npt.NDArray[np.float32]:
    ids = [WORDS.index(word) if word in WORDS else 1 for word in text.split()]
    return np.asarray(TABLE[[2, *ids, 3]], np.float32)


def test_a_vector_is_the_mean_of_its_tokens_with_their_ends(folder: Path) -> None:
    write_network(folder / "onnx" / "model.onnx")
    encoder = FolderEncoder(folder)
    assert encoder.dimensions == 6
    assert np.array_equal(encoder.query("Stack push pop find"), quantise(states("stack push pop find").mean(axis=0)))
    assert encoder.passages([]).shape == (0, 6)


def test_a_passage_has_one_row_whatever_stands_beside_it(folder: Path) -> None:
    write_network(folder / "model.onnx")
    encoder = FolderEncoder(folder)
    given = [Passage("stack", "push", "", "pop " * n) for n in (1, 40, 7)]
    together = encoder.passages(given)
    assert together.dtype == np.int8
    assert np.array_equal(together[1], quantise(states("stack push " + "pop " * 40).mean(axis=0)))
    assert all(np.array_equal(encoder.passages([each])[0], row) for each, row in zip(given, together, strict=True))


@pytest.mark.parametrize(("mode", "at"), [("pooling_mode_cls_token", 0), ("pooling_mode_lasttoken", -1)])
def test_one_token_may_stand_for_all(folder: Path, mode: str, at: int) -> None:
    write_network(folder / "model.onnx")
    put(folder, **{"1_Pooling__config": {mode: True}})
    assert np.array_equal(FolderEncoder(folder).query("find code"), quantise(states("find code")[at]))


def test_prompts_and_the_greatest_length_change_what_is_read(folder: Path) -> None:
    write_network(folder / "model.onnx")
    put(folder, config_sentence_transformers={"prompts": {"query": "find ", "document": "code "}})
    put(folder, sentence_bert_config={"max_seq_length": 8})
    encoder = FolderEncoder(folder)
    assert np.array_equal(encoder.query("stack"), quantise(states("find stack").mean(axis=0)))
    row = encoder.passages([Passage("", "", "", "pop " * 50)])[0]
    assert np.array_equal(row, quantise(states("code pop pop pop pop pop").mean(axis=0)))


def test_a_network_that_pools_by_itself_is_taken_at_its_word(folder: Path) -> None:
    write_network(folder / "model.onnx", outputs=("last_hidden_state", "sentence_embedding"))
    assert np.array_equal(FolderEncoder(folder).query("stack"), quantise(2 * TABLE[4]))


def test_layers_outside_the_network_are_refused(folder: Path) -> None:
    write_network(folder / "model.onnx")
    put(folder, modules=[{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])
    with pytest.raises(EncoderFailed, match="layers outside"):
        FolderEncoder(folder).query("stack")


def test_a_network_that_wants_more_than_text_is_refused(folder: Path) -> None:
    write_network(folder / "model.onnx", extra="pixel_values")
    with pytest.raises(EncoderFailed, match="pixel_values"):
        FolderEncoder(folder).query("stack")


def test_a_model_and_a_tokenizer_that_are_none_are_refused(folder: Path) -> None:
    write_network(folder / "model.onnx")
    put(folder, tokenizer={"model": {"type": "Zork"}})
    with pytest.raises(EncoderFailed, match="tokenizer"):
        FolderEncoder(folder).query("stack")
    put(folder, tokenizer=TOKENIZER)
    (folder / "model.onnx").write_bytes(b"not a network")
    with pytest.raises(EncoderFailed, match="cannot be opened"):
        FolderEncoder(folder).query("stack")


def test_a_network_that_fails_on_a_text_is_a_failure_with_a_name(folder: Path) -> None:
    write_network(folder / "model.onnx")
    vocabulary = {**TOKENIZER["model"]["vocab"], "beyond": 5000}
    put(folder, tokenizer={**TOKENIZER, "model": {**TOKENIZER["model"], "vocab": vocabulary}})
    with pytest.raises(EncoderFailed, match="cannot be run"):
        FolderEncoder(folder).query("beyond")


def test_texts_in_any_script_and_without_content_have_rows(folder: Path) -> None:
    write_network(folder / "model.onnx")
    rows = FolderEncoder(folder).passages([Passage("日本.py", "größe", "", "🪨\x00\udcff"), Passage("", "", "")])
    assert rows.shape == (2, 6)
