"""SENet: ResNets whose blocks weight their channels.

Source: J. Hu, L. Shen, G. Sun, Squeeze-and-excitation networks, arXiv:1709.01507. Parameters have timm's names.
"""

from typing import Any

from .registry import register_model
from .resnet import ResNet, variant

REDUCTION = 16                      # channels over what they are squeezed to


@register_model
def se_resnet_18(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNet-18: 11,779,624 parameters for 1000 classes."""
    return variant(18, {"reduction": REDUCTION}, num_classes, kwargs)


@register_model
def se_resnet_34(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNet-34: 21,960,416 parameters for 1000 classes."""
    return variant(34, {"reduction": REDUCTION}, num_classes, kwargs)


@register_model
def se_resnet_50(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNet-50: 28,088,024 parameters for 1000 classes."""
    return variant(50, {"reduction": REDUCTION}, num_classes, kwargs)


@register_model
def se_resnet_101(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNet-101: 49,326,872 parameters for 1000 classes."""
    return variant(101, {"reduction": REDUCTION}, num_classes, kwargs)


@register_model
def se_resnet_152(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNet-152: 66,821,848 parameters for 1000 classes."""
    return variant(152, {"reduction": REDUCTION}, num_classes, kwargs)


@register_model
def se_resnext_50_32x4d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNeXt-50, 32 groups of 4 channels: 27,559,896 parameters."""
    return variant(50, {"reduction": REDUCTION, "cardinality": 32, "base_width": 4}, num_classes, kwargs)


@register_model
def se_resnext_101_32x4d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNeXt-101, 32 groups of 4 channels: 48,955,416 parameters."""
    return variant(101, {"reduction": REDUCTION, "cardinality": 32, "base_width": 4}, num_classes, kwargs)


@register_model
def se_resnext_101_32x8d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNeXt-101, 32 groups of 8 channels: 93,569,048 parameters."""
    return variant(101, {"reduction": REDUCTION, "cardinality": 32, "base_width": 8}, num_classes, kwargs)


@register_model
def se_resnext_101_64x4d(num_classes: int = 1000, **kwargs: Any) -> ResNet:
    """SE-ResNeXt-101, 64 groups of 4 channels: 88,232,984 parameters."""
    return variant(101, {"reduction": REDUCTION, "cardinality": 64, "base_width": 4}, num_classes, kwargs)
