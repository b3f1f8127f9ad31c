"""What is known of torch's own classes of modules: which nodes their forward makes.

Classes are known by their names. A class of the user's that has such a name and other modules or
parameters in it is no such class: :func:`makes_of` is asked for modules without modules in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ROW: Final = "Sequential"
"""The class that calls one after the other, and computes nothing itself."""
USED_BY_OTHERS: Final = "NonDynamicallyQuantizableLinear"
"""The class whose parameters are used by the module around it, though it has a ``forward``."""
LOOPS: Final = frozenset(("RNN", "LSTM", "GRU", "RNNBase"))
"""Classes that use a parameter several times in one call."""
_GRU: Final = "Add Sigmoid Add Sigmoid Mul Add Tanh Sub Mul Add"
_LSTM: Final = "Add UnsafeSplit Sigmoid Sigmoid Tanh Sigmoid Mul Mul Add Tanh Mul"
ENDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = MappingProxyType(
    {
        kind: tuple(tuple(f"{name}Backward0" for name in end.split()) for end in ends)
        for kind, ends in {
            **{f"InstanceNorm{size}d": ("View", "ReshapeAlias") for size in (1, 2, 3)},
            "RNNCell": ("Add Tanh", "Add Relu"),
            "LSTMCell": (_LSTM,),
            "GRUCell": (f"UnsafeSplit {_GRU}", _GRU),
            "RNN": ("Add Tanh Stack", "Add Relu Stack"),
            "LSTM": (f"{_LSTM} Stack",),
            "GRU": (f"UnsafeSplit {_GRU} Stack", f"{_GRU} Stack"),
        }.items()
    }
)
"""What torch's own classes make after the last node that uses a parameter."""
CASTS: Final = frozenset(
    f"{name}Backward0"
    for name in (
        *("T", "Transpose", "Permute", "View", "UnsafeView", "ReshapeAlias", "Expand", "ToCopy"),
        *("Squeeze", "Unsqueeze", "Select", "Slice", "Split", "UnsafeSplit", "Chunk", "Unbind"),
        *("Clone", "Repeat", "Alias", "Unflatten", "Movedim", "Numpy_T", "Detach", "Real", "Conj"),
    )
) | {f"{name}Backward{n}" for name in ("Squeeze", "Transpose", "Split") for n in range(1, 4)}
"""Nodes of views, parts, copies and casts: a leaf behind them is used by the node before them."""
_SIZES: Final = ("1d", "2d", "3d")
FORMS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        kind: frozenset(("ToCopyBackward0", *(f"{name}Backward0" for name in names.split())))
        for kind, names in {
            **dict.fromkeys(("Linear", "RNNCell", "LSTMCell", "GRUCell"), "T"),
            **dict.fromkeys((f"Conv{size}" for size in _SIZES), ""),
            **dict.fromkeys((f"ConvTranspose{size}" for size in _SIZES), ""),
            **dict.fromkeys((f"BatchNorm{size}" for size in _SIZES), ""),
            **dict.fromkeys((f"InstanceNorm{size}" for size in _SIZES), "Repeat"),
            **dict.fromkeys(("LayerNorm", "GroupNorm", "RMSNorm", "Embedding", "EmbeddingBag"), ""),
            "PReLU": "View ReshapeAlias",
        }.items()
    }
)
"""In what form torch's own classes use their parameters: as they are, or seen or cast so."""
KERNELS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        kind: frozenset(f"{name}Backward0" for name in names.split())
        for kind, names in {
            "Linear": "Addmm Mm Mv Bmm Addmv Linear MkldnnLinear Add",
            **dict.fromkeys(("RNNCell", "LSTMCell", "GRUCell"), "Addmm Mm Add"),
            **dict.fromkeys(
                (f"Conv{way}{size}" for way in ("", "Transpose") for size in _SIZES),
                "Convolution ConvolutionOverrideable ThnnConv2D SlowConv3D MkldnnConvolution",
            ),
            **dict.fromkeys(
                (f"{way}Norm{size}" for way in ("Batch", "Instance") for size in _SIZES),
                "NativeBatchNorm CudnnBatchNorm MiopenBatchNorm",
            ),
            "LayerNorm": "NativeLayerNorm",
            "GroupNorm": "NativeGroupNorm",
            "RMSNorm": "FusedRmsNorm Mul",
            "Embedding": "Embedding",
            "EmbeddingBag": "EmbeddingBag",
            "PReLU": "PreluKernel",
        }.items()
    }
)
"""The nodes in which torch's own classes use their parameters."""
OPEN_KERNELS: Final = frozenset(("MulBackward0", "AddBackward0"))
"""Those that other code, and a backward, make of parameters too."""
PARAMETER_SLOTS: Final[Mapping[str, frozenset[int]]] = MappingProxyType(
    {
        f"{name}Backward0": frozenset(slots)
        for name, slots in {
            **dict.fromkeys(("Embedding", "EmbeddingBag"), (0,)),
            **dict.fromkeys(("Mm", "PreluKernel", "FusedRmsNorm"), (1,)),
            "Addmm": (0, 2),
            **dict.fromkeys(("Convolution", "ConvolutionOverrideable", "Linear"), (1, 2)),
            **dict.fromkeys(("NativeLayerNorm", "NativeGroupNorm", "NativeBatchNorm"), (1, 2)),
        }.items()
    }
)
"""Which arguments of a node are parameters of a module."""
PRODUCTS: Final = frozenset(
    f"{name}Backward0" for name in ("Addmm", "Mm", "Convolution", "ConvolutionOverrideable")
)
"""Nodes that multiply values with a weight."""
COMPILED: Final = "CompiledFunctionBackward"
"""The one node of what torch.compile has compiled; it uses the parameters of many modules."""
MEASURES: Final = frozenset(
    f"{name}Backward{n}"
    for name in ("Pow", "Abs", "Sum", "Mean", "Norm", "LinalgVectorNorm")
    for n in range(4)
)
"""Nodes that take parameters alone, where these are penalised or compared."""

_FORMS = "View UnsafeView ReshapeAlias Unsqueeze Squeeze Squeeze Expand ToCopy ToCopy ToCopy"
_WITH_WEIGHTS: Final = {
    "Linear": "T Transpose Addmm Mm Mv Bmm Dot Linear MkldnnLinear Add Sum Mul View",
    "Conv": "Convolution ConvolutionOverrideable ThnnConv2D SlowConv3D ConstantPadNd View",
    "Embedding": "Embedding",
    "EmbeddingBag": "EmbeddingBag",
    "LayerNorm": "NativeLayerNorm",
    "GroupNorm": "NativeGroupNorm",
    "BatchNorm": "NativeBatchNorm CudnnBatchNorm MiopenBatchNorm",
    "InstanceNorm": "NativeBatchNorm CudnnBatchNorm Repeat Repeat View View",
    "PReLU": "PreluKernel",
    "RMSNorm": "FusedRmsNorm Pow Mean Add Rsqrt Mul Mul",
    "RNNCell": "T T Addmm Addmm Add Tanh Relu",
    "LSTMCell": "T T Addmm Addmm Add Add Split UnsafeSplit Sigmoid Sigmoid Sigmoid Tanh Tanh "
    "Mul Mul Mul ThnnFusedLstmCell",
    "GRUCell": "T T Addmm Addmm Add Add Add Add Split Split UnsafeSplit UnsafeSplit Sigmoid "
    "Sigmoid Tanh Mul Mul Sub ThnnFusedGruCell",
}
_WITHOUT: Final = {
    "ReLU": "Relu",
    "LeakyReLU": "LeakyRelu",
    "ReLU6": "Hardtanh",
    "Hardtanh": "Hardtanh",
    "GELU": "Gelu",
    "SiLU": "Silu",
    "Mish": "Mish",
    "ELU": "Elu",
    "SELU": "Elu",
    "CELU": "Elu",
    "Sigmoid": "Sigmoid",
    "LogSigmoid": "LogSigmoid",
    "Tanh": "Tanh",
    "Softplus": "Softplus",
    "Hardswish": "Hardswish",
    "Hardsigmoid": "Hardsigmoid",
    "Softmax": "Softmax",
    "LogSoftmax": "LogSoftmax",
    "GLU": "Glu",
    "Dropout": "Mul NativeDropout",
    "Dropout1d": "Mul",
    "Dropout2d": "Mul",
    "Dropout3d": "Mul",
    "MaxPool1d": "MaxPool2DWithIndices Squeeze Unsqueeze",
    "MaxPool2d": "MaxPool2DWithIndices",
    "MaxPool3d": "MaxPool3DWithIndices",
    "AvgPool1d": "AvgPool2D Squeeze Unsqueeze",
    "AvgPool2d": "AvgPool2D",
    "AvgPool3d": "AvgPool3D",
    "AdaptiveAvgPool1d": "Mean AdaptiveAvgPool2D Squeeze Unsqueeze",
    "AdaptiveAvgPool2d": "Mean AdaptiveAvgPool2D",
    "AdaptiveAvgPool3d": "Mean AdaptiveAvgPool3D",
    "AdaptiveMaxPool2d": "AdaptiveMaxPool2D",
    "Upsample": "UpsampleNearest1D UpsampleNearest2D UpsampleNearest3D UpsampleLinear1D "
    "UpsampleBilinear2D UpsampleBicubic2D UpsampleTrilinear3D",
    "PixelShuffle": "PixelShuffle",
    "ZeroPad2d": "ConstantPadNd",
    "ReflectionPad2d": "ReflectionPad2D",
    "ReplicationPad2d": "ReplicationPad2D",
    "Flatten": "View ReshapeAlias UnsafeView",
    "Unflatten": "View",
    "Identity": "",
    "CrossEntropyLoss": "LogSoftmax NllLoss NllLoss2D View View Mean Sum Neg Mul",
    "NLLLoss": "NllLoss NllLoss2D",
    "MSELoss": "MseLoss",
    "L1Loss": "Abs Sub Mean L1Loss",
    "SmoothL1Loss": "SmoothL1Loss",
    "HuberLoss": "HuberLoss",
    "BCELoss": "BinaryCrossEntropy",
    "BCEWithLogitsLoss": "BinaryCrossEntropyWithLogits",
    "KLDivLoss": "Sub Mul Mean Sum Div",
}
_WITH_SIZES: Final = ("", *_SIZES, *(f"Transpose{size}" for size in _SIZES))


def _counted(names: str) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for name in names.split():
        for number in range(6):
            found[f"{name}Backward{number}"] += 1
    return MappingProxyType(found)


ONE: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        kind: frozenset(f"{name}Backward{number}" for name in names.split() for number in range(6))
        for kind, names in _WITHOUT.items()
        if kind
        in (
            *("ReLU", "LeakyReLU", "ReLU6", "Hardtanh", "GELU", "SiLU", "Mish", "ELU", "SELU"),
            *("CELU", "Sigmoid", "LogSigmoid", "Tanh", "Softplus", "Hardswish", "Hardsigmoid"),
            *("Softmax", "LogSoftmax", "GLU", "MaxPool2d", "MaxPool3d", "AvgPool2d", "AvgPool3d"),
            *("AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool2d", "PixelShuffle"),
            *("Upsample", "ReflectionPad2d", "ReplicationPad2d"),
        )
    }
)
"""Classes without parameters that make one node in each call, and how it may be called."""
_CONVOLUTIONS: Final = ("Conv", "BatchNorm", "InstanceNorm")
_MAKES: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        f"{name}{size}": _counted(f"{nodes} {_FORMS}")
        for name, nodes in _WITH_WEIGHTS.items()
        for size in (_WITH_SIZES if name in _CONVOLUTIONS else ("",))
    }
    | {name: _counted(f"{nodes} ToCopy") for name, nodes in _WITHOUT.items()}
)


def makes_of(kind: str) -> Mapping[str, int] | None:
    """How many nodes of each name a call of a module at most makes; ``None`` if it is not known.

    Args:
        kind: Name of its class.

    Examples:
        >>> makes_of("ReLU")["ReluBackward0"], makes_of("Block")
        (1, None)
    """
    return _MAKES.get(kind)
