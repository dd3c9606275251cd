"""Transformer, VAE and DDPM. Oracles: formulas of the papers in NumPy, torch's transformer, published sizes."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import models

RNG = np.random.default_rng(3)


def layers(width, hidden, attentions):
    """Parameters of one layer of the paper's transformer: attentions, a network, and a norm after each."""
    network, norms = 2 * width * hidden + hidden + width, (attentions + 1) * 2 * width
    return attentions * (4 * width * width + 4 * width) + network + norms


@pytest.mark.parametrize(("name", "width", "hidden"),
                         [("transformer_base", 512, 2048), ("transformer_big", 1024, 4096)])
def test_transformers_have_the_papers_sizes(monkeypatch, name, width, hidden):
    for draw in ("uniform_", "normal_", "xavier_uniform_"):
        monkeypatch.setattr(lnb.nn.init, draw, lambda tensor, *args, **options: tensor)
    model = models.create_model(name, src_vocab_size=7, tgt_vocab_size=9)
    stacks = 6 * (layers(width, hidden, 1) + layers(width, hidden, 2)) + 2 * 2 * width
    assert model.count_parameters() == stacks + (7 + 9) * width + 9 * width + 9


def test_positions_are_the_papers_sines_and_cosines():
    encoding = models.PositionalEncoding(6, dropout=0.0)
    found = encoding(np.zeros((1, 50, 6), np.float32))[0].numpy()
    wanted = [[wave(pos / 10000 ** (2 * i / 6)) for i in range(3) for wave in (np.sin, np.cos)] for pos in range(50)]
    assert np.allclose(found, wanted, atol=1e-6)


def test_later_targets_are_not_seen():
    model = models.Transformer(11, 13, 8, 2, 1, 1, 16).eval()
    src, tgt = RNG.integers(0, 11, (2, 5)), RNG.integers(0, 13, (2, 6))
    changed = tgt.copy()
    changed[:, 4:] = (changed[:, 4:] + 1) % 13
    before, after = model(src, tgt).detach().numpy(), model(src, changed).detach().numpy()
    assert np.array_equal(before[:, :4], after[:, :4])
    assert not np.allclose(before[:, 4:], after[:, 4:])


def test_more_positions_than_known_are_refused():
    model = models.Transformer(5, 5, 8, 2, 1, 1, 16, max_len=4)
    with pytest.raises(lnb.errors.ShapeError, match="PositionalEncoding: 5 positions, and 4 are known"):
        model(np.zeros((1, 5), int), np.zeros((1, 2), int))


def test_transformer_equals_torch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours = models.Transformer(11, 13, 8, 2, 2, 1, 16).to("float64").eval()
    theirs = torch.nn.Transformer(8, 2, 2, 1, 16, batch_first=True, dtype=torch.float64).eval()
    prefix = "transformer."
    theirs.load_state_dict({key[len(prefix):]: torch.tensor(value.numpy()) for key, value in ours.state_dict().items()
                            if key.startswith(prefix)})
    src, tgt = RNG.integers(0, 11, (2, 5)), RNG.integers(0, 13, (2, 6))
    embedded = [torch.tensor(emb.weight.detach().numpy()[tokens] * 8 ** 0.5
                             + ours.positional_encoding.pe.numpy()[:tokens.shape[1]])
                for emb, tokens in ((ours.src_tok_emb, src), (ours.tgt_tok_emb, tgt))]
    mask = torch.nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64)
    wanted = theirs(*embedded, tgt_mask=mask).detach().numpy() @ ours.fc_out.weight.detach().numpy().T
    assert np.allclose(ours(src, tgt).detach().numpy(), wanted + ours.fc_out.bias.detach().numpy(), atol=1e-9)


# ---------------------------------------------------------------------------------------------------------- VAE
def vae(**options):
    encoders = [lnb.nn.Linear(6, 8), lnb.nn.Linear(4, 4)]
    return models.VAE(encoders, [lnb.nn.Linear(4, 6), lnb.nn.Linear(2, 4)], [lnb.nn.Linear(2, 8)], **options)


def divergence(mu_q, logvar_q, mu_p, logvar_p):
    """KL of diagonal normal distributions, written from the density's definition."""
    var_q, var_p = np.exp(logvar_q), np.exp(logvar_p)
    return (np.log(np.sqrt(var_p / var_q)) + (var_q + (mu_q - mu_p) ** 2) / (2 * var_p) - 0.5).sum(1).mean()


def test_losses_of_levels_are_the_papers():
    model, x = vae(kl_weight=0.5).to("float64"), RNG.normal(size=(5, 6))
    recon, mus, logvars, zs = model(lnb.asarray(x))
    total, reconstruction, kl = (each.item() for each in model.get_loss(lnb.asarray(x), recon, mus, logvars, zs))
    prior = model.priors[0](zs[1]).detach().numpy()
    m0, l0, m1, l1 = (each.detach().numpy() for each in (mus[0], logvars[0], mus[1], logvars[1]))
    wanted = 0.25 * (divergence(m0, l0, prior[:, :4], prior[:, 4:]) + divergence(m1, l1, 0 * m1, 0 * l1))
    assert np.isclose(kl, wanted)
    assert np.isclose(reconstruction, ((recon.detach().numpy() - x) ** 2).sum(1).mean())
    assert np.isclose(total, reconstruction + kl)


def test_draws_have_the_mean_and_variance_they_are_given():
    lnb.random.seed(0)
    z = vae().reparameterize(lnb.full((20000, 2), 3.0), lnb.full((20000, 2), np.log(4.0))).numpy()
    assert np.allclose(z.mean(0), 3, atol=0.06) and np.allclose(z.std(0), 2, atol=0.05)


def test_the_weight_of_the_divergence_follows_its_schedule():
    model = vae(beta_schedule=lambda step: step / 10)
    x = lnb.zeros((2, 6), dtype="float32")
    assert [model.get_loss(x, *model(x))[2].item() == 0.0 for _ in range(2)] == [True, False]


def test_steps_of_a_vae_lower_the_loss():
    lnb.random.seed(0)
    model, x = vae(kl_weight=0.01), lnb.asarray(RNG.normal(size=(16, 6)).astype(np.float32))
    optimizer, losses = lnb.optim.Adam(model.parameters(), lr=0.03), []
    for _ in range(12):
        optimizer.zero_grad()
        loss = model.get_loss(x, *model(x))[0]
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
    assert all(param.grad.any() for param in model.parameters())


# --------------------------------------------------------------------------------------------------------- DDPM
def test_the_default_network_has_the_papers_size(monkeypatch):
    for draw in ("uniform_", "kaiming_uniform_"):
        monkeypatch.setattr(lnb.nn.init, draw, lambda tensor, *args, **options: tensor)
    assert round(models.UNet().count_parameters() / 1e6, 1) == 35.7


def small():
    return models.UNet(1, 1, 8, (1, 2), 1, (4,), image_size=8, dropout=0.0)


def test_noise_of_images_is_the_closed_form_of_its_steps():
    diffuser, x, noise = models.GaussianDiffuser(10), RNG.normal(size=(3, 1, 2, 2)), RNG.normal(size=(3, 1, 2, 2))
    left = np.cumprod(1 - np.linspace(1e-4, 0.02, 10))[[0, 4, 9]].reshape(3, 1, 1, 1)
    found = diffuser.add_noise(lnb.asarray(x), lnb.asarray([0, 4, 9]), lnb.asarray(noise)).numpy()
    assert np.allclose(found, np.sqrt(left) * x + np.sqrt(1 - left) * noise, rtol=1e-6)


class Exact(lnb.nn.Module):
    """The noise of images that are all normal with mean m and deviation s: what a perfect network finds."""

    def __init__(self, diffuser, mean, deviation):
        super().__init__()
        self.kept = diffuser.alphas_cumprod.numpy().astype(float)
        self.mean, self.variance = mean, deviation ** 2

    def forward(self, x, t):
        left = self.kept[int(t[0].item())]
        return (x - np.sqrt(left) * self.mean) * np.sqrt(1 - left) / (left * self.variance + 1 - left)


def test_a_perfect_network_samples_the_distribution():
    steps, mean, deviation = 100, 0.5, 0.25
    lnb.random.seed(0)
    diffuser = models.GaussianDiffuser(steps, 1e-3, 0.2)
    model = models.DDPM(Exact(diffuser, mean, deviation), 8, 1, diffuser=diffuser, clip_denoised=False)
    betas = np.linspace(1e-3, 0.2, steps)
    alphas, kept, variance = 1 - betas, np.cumprod(1 - betas), 1.0
    for t in reversed(range(steps)):             # each step is linear: equation 11, and its variance, in float64
        noise = np.sqrt(1 - kept[t]) / (kept[t] * deviation ** 2 + 1 - kept[t])
        factor = (1 - betas[t] / np.sqrt(1 - kept[t]) * noise) / np.sqrt(alphas[t])
        added = betas[t] * (1 - kept[t - 1]) / (1 - kept[t]) if t else 0.0
        variance = factor ** 2 * variance + added
    found = model.sample(400).numpy()
    assert np.isclose(found.mean(), mean, atol=0.006) and np.isclose(found.std(), np.sqrt(variance), atol=0.004)
    assert np.isclose(found.std(), deviation, atol=0.04)


def test_steps_of_a_ddpm_lower_the_loss_and_reach_every_parameter():
    lnb.random.seed(0)
    model, x = models.DDPM(small(), 8, 1, 20), lnb.asarray(RNG.normal(size=(8, 1, 8, 8)).astype(np.float32))
    optimizer, losses = lnb.optim.Adam(model.parameters(), lr=3e-3), []
    for _ in range(15):
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-4:]) < np.mean(losses[:4])
    assert all(param.grad.any() for param in model.parameters())


@pytest.mark.parametrize("size", [7, 8])
def test_noise_has_the_shape_of_images(size):
    assert small()(np.zeros((2, 1, size, size), np.float32), lnb.asarray([0, 3])).shape == (2, 1, size, size)
