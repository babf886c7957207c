"""A BERT written as an ONNX graph, as exporters write it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from excise.encoders.bert import Bert


def write_graph(bert: Bert, file: Path, whole_numbers: bool) -> None:
    """As exporters do: maps are named after their nodes and transposed, all else keeps its name."""
    import onnx

    stored: dict[str, np.ndarray] = {}
    nodes = []

    def keep(name: str, array: np.ndarray) -> str:
        if not whole_numbers or array.ndim < 2:
            stored[name] = array
            return name
        scale = np.float32(np.abs(array).max() / 127)
        stored[f"{name}_quantized"] = np.round(array / scale).astype(np.int8)
        stored[f"{name}_scale"], stored[f"{name}_zero_point"] = np.array(scale), np.array(0, dtype=np.int8)
        return f"{name}_quantized"

    for number, (name, tensor) in enumerate(bert.state_dict().items()):
        array = tensor.numpy()
        if array.ndim == 2 and not name.startswith("embeddings."):
            path = "/bert/" + name.removesuffix(".weight").replace(".", "/").replace("layer/", "layer.")
            kind, tail = ("MatMulInteger", "MatMul_quant") if whole_numbers else ("MatMul", "MatMul")
            weight = keep(f"onnx::MatMul_{number}", np.ascontiguousarray(array.T))
            nodes.append(onnx.helper.make_node(kind, ["x", weight], [f"y{number}"], name=f"{path}/{tail}"))
        else:
            keep(f"bert.{name}", array)
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in stored.items()]
    graph = onnx.helper.make_graph(nodes, "bert", [], [], initializer=tensors)
    onnx.save(onnx.helper.make_model(graph), str(file))
    (file.parent / "tokenizer.json").write_text("{}")
