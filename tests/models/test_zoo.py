"""The families of networks. Oracles: published numbers of parameters; outputs of torchvision 0.28 and timm 1.0.31."""

import functools

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import models
from lucid_nb.models.efficientnet import NORM_V2, Stage
from lucid_nb.models.resnet import BasicBlock, Bottleneck

from .drawn import drawn_state, images

FUSED = (Stage(True, 1, 3, 1, 16, 2), Stage(True, 4, 3, 2, 24, 2), Stage(False, 4, 3, 2, 32, 2))
SMALL = {
    "resnet": lambda: models.ResNet(Bottleneck, [1, 2, 1, 1], 4, block_args={"cardinality": 2, "base_width": 16}),
    "se_resnet": lambda: models.ResNet(BasicBlock, [1, 1, 1, 1], 4, block_args={"reduction": 16}),
    "densenet": lambda: models.DenseNet((2, 3, 2), 8, 16, 4),
    "mobilenet": lambda: models.MobileNet(1.0, 4),
    "mobilenet_v2": lambda: models.MobileNet_V2(4, 0.25),
    "mobilenet_v3_small": lambda: models.mobilenet_v3_small(4),
    "efficientnet": lambda: models.EfficientNet(
        4, stages=(Stage(False, 1, 3, 1, 8, 1), Stage(False, 6, 5, 2, 16, 2)), stem_channels=16),
    "efficientnet_v2": lambda: models.EfficientNet(4, stages=FUSED, stem_channels=16, last_channels=64, norm=NORM_V2),
    "convnext": lambda: models.ConvNeXt(4, (2, 2), (8, 16)),
    "vit": lambda: models.ViT(32, 8, 3, 4, 32, 2, 4, 64),
    "swin": lambda: models.SwinTransformer(4, 3, 4, 16, (2, 2), (2, 4), 5, drop_path_rate=0.0),
    "swin_v2": lambda: models.SwinTransformer_V2(4, 3, 4, 16, (2, 2), (2, 4), 4, drop_path_rate=0.0)}
# What the same networks of torchvision (timm: se_resnet and mobilenet) gave for drawn_state and images, in float64.
REFERENCES = [
    ("resnet", (3, 40, 40), [-0.82285447, -0.48654159, -1.1259128, -0.40535314]),
    ("densenet", (3, 48, 48), [1.3043979, 0.65910215, 0.0026336418, -1.1106719]),
    ("mobilenet_v2", (3, 40, 40), [0.25975874, -0.23062511, -0.37535173, 0.078220119]),
    ("mobilenet_v3_small", (3, 40, 40), [-0.036463511, -0.22826586, 0.073169665, -0.51866715]),
    ("efficientnet", (3, 32, 32), [-0.64611765, 0.061336918, 0.44283056, 0.22096729]),
    ("efficientnet_v2", (3, 32, 32), [0.11224971, -0.60792013, 0.29780295, 0.11582514]),
    ("convnext", (3, 40, 40), [1.7892076, 0.26685946, -1.0704521, -1.5478326]),
    ("vit", (3, 32, 32), [1.8695502, 2.3247562, 1.1441213, -0.61634074]),
    ("swin", (3, 60, 44), [-0.6806922, -1.9689086, -0.3097666, -0.50346063]),
    ("swin_v2", (3, 60, 44), [0.63170883, 0.073893311, 0.62785746, -1.1880003]),
    ("se_resnet", (3, 40, 40), [-0.80420077, 0.4638029, -0.61654499, 0.67132517]),
    ("mobilenet", (3, 40, 40), [0.098476462, 0.55045322, -0.40364867, 0.59371047])]
# As published with torchvision's weights; mobilenet, se_*, tiny and small ViT, the other ResNeXt: timm; DenseNet-264:
# its paper's network; LeNet: the layers' sizes added up by hand.
PUBLISHED = {
    "alexnet": 61100840, "vggnet_11": 132863336, "vggnet_13": 133047848, "vggnet_16": 138357544,
    "vggnet_19": 143667240, "resnet_18": 11689512, "resnet_34": 21797672, "resnet_50": 25557032,
    "resnet_101": 44549160, "resnet_152": 60192808, "resnet_200": 64673832, "wide_resnet_50": 68883240,
    "wide_resnet_101": 126886696, "resnext_50_32x4d": 25028904, "resnext_101_32x4d": 44177704,
    "resnext_101_32x8d": 88791336, "resnext_101_32x16d": 194026792, "resnext_101_32x32d": 468530472,
    "resnext_101_64x4d": 83455272, "se_resnet_18": 11779624, "se_resnet_34": 21960416, "se_resnet_50": 28088024,
    "se_resnet_101": 49326872, "se_resnet_152": 66821848, "se_resnext_50_32x4d": 27559896,
    "se_resnext_101_32x4d": 48955416, "se_resnext_101_32x8d": 93569048, "se_resnext_101_64x4d": 88232984,
    "densenet_121": 7978856, "densenet_161": 28681000, "densenet_169": 14149480, "densenet_201": 20013928,
    "densenet_264": 33337704, "mobilenet": 4231976, "mobilenet_v2": 3504872, "mobilenet_v3_small": 2542856,
    "mobilenet_v3_large": 5483032, "efficientnet_b0": 5288548, "efficientnet_b1": 7794184, "efficientnet_b2": 9109994,
    "efficientnet_b3": 12233232, "efficientnet_b4": 19341616, "efficientnet_b5": 30389784, "efficientnet_b6": 43040704,
    "efficientnet_b7": 66347960, "efficientnet_v2_s": 21458488, "efficientnet_v2_m": 54139356,
    "efficientnet_v2_l": 118515272, "convnext_tiny": 28589128, "convnext_small": 50223688, "convnext_base": 88591464,
    "convnext_large": 197767336, "convnext_xlarge": 350196968, "vit_tiny": 5717416, "vit_small": 22050664,
    "vit_base": 86567656, "vit_large": 304326632, "vit_huge": 632045800, "swin_tiny": 28288354,
    "swin_small": 49606258, "swin_base": 87768224, "swin_large": 196532476, "swin_v2_tiny": 28351570,
    "swin_v2_small": 49737442, "swin_v2_base": 87930848, "lenet_1": 3246, "lenet_4": 51050, "lenet_5": 61706}
SWEPT = 30_000_000                                           # parameters from which on models are only made in sweeps
UNPUBLISHED = {"transformer_base", "transformer_big"}          # test_sequences.py: their vocabulary is a choice


@pytest.fixture
def undrawn(monkeypatch):
    """Initialisers that draw nothing: a model of 2 GB is made without touching its memory."""
    for name in ("uniform_", "normal_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_", "xavier_uniform_"):
        monkeypatch.setattr(lnb.nn.init, name, lambda tensor, *args, **options: tensor)


@pytest.mark.parametrize("name", [name if count < SWEPT else pytest.param(name, marks=pytest.mark.sweep)
                                  for name, count in PUBLISHED.items()])
def test_models_have_the_published_number_of_parameters(undrawn, name):
    assert models.create_model(name).count_parameters() == PUBLISHED[name]


def test_every_model_has_its_number_in_its_text_and_in_this_table():
    ours = {name for name in models.get_model_names() if hasattr(models, name)}         # doctests register others
    assert ours - UNPUBLISHED == {*PUBLISHED}
    missing = [name for name, count in PUBLISHED.items() if "lenet" not in name
               and f"{count:,}" not in getattr(models, name).__doc__]
    assert missing == []


@pytest.mark.parametrize(("name", "shape", "expected"), REFERENCES)
def test_outputs_equal_the_references(name, shape, expected):
    model = SMALL[name]().to("float64").eval()
    model.load_state_dict(drawn_state({key: value.numpy() for key, value in model.state_dict().items()}))
    assert np.allclose(model(images(1, *shape))[0].detach().numpy(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_three_steps_lower_the_loss_and_reach_every_parameter(name):
    lnb.random.seed(1)
    model, x = SMALL[name](), images(4, 3, 32, 32).astype(np.float32)
    optimizer, losses = lnb.optim.SGD(model.parameters(), lr=0.02), []
    for _ in range(4):
        optimizer.zero_grad()
        loss = lnb.nn.functional.cross_entropy(model(x), np.arange(4))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    unreached = [key for key, param in model.named_parameters() if param.grad is None or not param.grad.any()]
    assert unreached == []


@pytest.mark.parametrize("name", ["alexnet", "vggnet_11"])
def test_networks_with_three_linear_layers_give_scores(undrawn, name):
    model = models.create_model(name, num_classes=3).eval()
    for param in model.parameters():
        lnb.nn.init.constant_(param, 0.0)
    assert model(np.zeros((2, 3, 64, 64), np.float32)).shape == (2, 3)


def test_norms_of_vgg_are_torchvisions(undrawn):
    assert models.vggnet_11(batch_norm=True).count_parameters() == 132868840
    assert models.vggnet_16(batch_norm=True).count_parameters() == 138365992


# ------------------------------------------------------------------------------------------------------ by name
def test_names_need_no_underscores():
    assert type(models.create_model("LeNet5")) is models.LeNet


def test_unknown_names_are_refused_with_those_near():
    with pytest.raises(lnb.errors.ConfigError, match=r"no model is called 'lenet_6'\. Did you mean lenet_"):
        models.create_model("lenet_6")


def test_names_of_other_models_cannot_be_taken():
    def lenet_5():
        return lnb.nn.Identity()
    with pytest.raises(lnb.errors.ConfigError, match=r"'lenet_5' is the name of a model of lucid_nb\.models\.lenet"):
        lnb.register_model(lenet_5)


@pytest.mark.parametrize("factory", [lambda: lnb.nn.Identity(), functools.partial(lnb.nn.Linear, 2, 3)],
                         ids=["lambda", "partial"])
def test_factories_without_a_name_are_refused(factory):
    with pytest.raises(lnb.errors.ConfigError, match=r"has no name to create it by\. Pass a function"):
        lnb.register_model(factory)


def test_weights_are_loaded_from_files_and_dicts(tmp_path):
    source = models.lenet_1(num_classes=3)
    state = source.state_dict()
    lnb.save(state, tmp_path / "weights.safetensors")
    for weights in (state, tmp_path / "weights.safetensors"):
        found = models.create_model("lenet_1", num_classes=3, weights=weights)
        for key, value in found.state_dict().items():
            assert (value == state[key]).all()


def test_weights_of_another_shape_are_refused():
    with pytest.raises(lnb.errors.ShapeError):
        models.lenet_1(num_classes=4, weights=models.lenet_1(num_classes=3).state_dict())


@pytest.mark.parametrize(("make", "text"), [
    (lambda: models.ViT(30, 16), "ViT: images of 30 are not cut into whole patches of 16"),
    (lambda: models.VAE([], []), "VAE: 0 encoders, 0 decoders"),
    (lambda: models.VAE([lnb.nn.Identity()], [lnb.nn.Identity()], reconstruction_loss="l1"),
     "VAE: reconstruction_loss is 'l1'")])
def test_bad_settings_are_named(make, text):
    with pytest.raises(lnb.errors.ConfigError, match=text):
        make()


def test_images_of_another_size_are_refused():
    with pytest.raises(lnb.errors.ShapeError, match="ViT: images of shape"):
        SMALL["vit"]()(np.zeros((1, 3, 40, 40), np.float32))


def test_models_of_users_are_registered_wherever_they_are_defined(monkeypatch):
    """lucid's register_model fails for functions outside of lucid.models."""
    def net_of_a_user(num_classes=3):
        return lnb.nn.Linear(2, num_classes)
    monkeypatch.setattr(models.registry, "_FACTORIES", dict(models.registry._FACTORIES))
    lnb.register_model(net_of_a_user)
    assert models.create_model("net_of_a_user", num_classes=5).out_features == 5
