"""Variational autoencoders: images from few numbers, and the numbers of an image, also in several levels.

Sources: D. Kingma, M. Welling, Auto-encoding variational Bayes, arXiv:1312.6114; C. Sønderby et al., Ladder variational
autoencoders, arXiv:1602.02282.
"""

from collections.abc import Callable, Sequence

from .. import nn, random
from ..array import Tensor
from ..creation import zeros_like
from ..errors import ConfigError
from ..nn import functional as F
from ..ops.splitting import split
from ..ops.transcendental import exp

LOSSES: dict[str, Callable[..., Tensor]] = {"mse": F.mse_loss, "bce": F.binary_cross_entropy}


class VAE(nn.Module):
    """A variational autoencoder of `depth` levels.

    `encoders`: each gives mean and logarithm of the variance side by side (axis 1) of its level, from the level below,
    the first one from the input. `decoders`: each gives the level below, the first one the input. `priors`: each gives
    what is expected of its level from the level above; without them, as for the last level, it is the normal
    distribution. `reconstruction_loss`: "mse", or "bce" for decoders that give probabilities. The divergence is
    weighted by `kl_weight`, or by `beta_schedule(step)`, and with `hierarchical_kl` divided by the depth.

    >>> encoder, decoder = lnb.nn.Linear(6, 2 * 3), lnb.nn.Linear(3, 6)
    >>> model = lnb.models.VAE([encoder], [decoder])
    >>> reconstruction, means, logvars, latents = model(np.zeros((4, 6), np.float32))
    >>> reconstruction.shape, latents[0].shape
    ((4, 6), (4, 3))
    """

    def __init__(self, encoders: Sequence[nn.Module], decoders: Sequence[nn.Module],
                 priors: Sequence[nn.Module] | None = None, reconstruction_loss: str = "mse", kl_weight: float = 1.0,
                 beta_schedule: Callable[[int], float] | None = None, hierarchical_kl: bool = True,
                 depth: int | None = None) -> None:
        super().__init__()
        self.depth = len(encoders) if depth is None else depth
        if not self.depth == len(encoders) == len(decoders) > 0 or len(priors or decoders[1:]) < self.depth - 1:
            raise ConfigError(f"VAE: {len(encoders)} encoders, {len(decoders)} decoders and {len(priors or ())} priors "
                              f"for {self.depth} levels. Give one of each for every level; priors but for the last.")
        if reconstruction_loss not in LOSSES:
            raise ConfigError(f"VAE: reconstruction_loss is {reconstruction_loss!r}. Use 'mse' or 'bce'.")
        self.encoders, self.decoders = nn.ModuleList(encoders), nn.ModuleList(decoders)
        self.priors = None if priors is None else nn.ModuleList(priors)
        self.reconstruction_loss, self.kl_weight = reconstruction_loss, kl_weight
        self.beta_schedule, self.hierarchical_kl, self.training_step = beta_schedule, hierarchical_kl, 0

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        """A draw from the normal distribution of mean and variance, through which gradients go to both."""
        noise = random.next_key().normal(mu.shape, dtype=mu.dtype, device=mu.device)
        return mu + noise * exp(0.5 * logvar)

    def encode(self, x: Tensor) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Draws, means and logarithms of the variances of all levels."""
        zs: list[Tensor] = []
        mus: list[Tensor] = []
        logvars: list[Tensor] = []
        for encoder in self.encoders:
            mu, logvar = split(encoder(x), 2, axis=1)
            x = self.reparameterize(mu, logvar)
            zs.append(x)
            mus.append(mu)
            logvars.append(logvar)
        return zs, mus, logvars

    def decode(self, zs: Sequence[Tensor]) -> Tensor:
        """What the last level stands for."""
        found = zs[-1]
        for decoder in reversed(list(self.decoders)):
            found = decoder(found)
        return found

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor], list[Tensor]]:
        """Reconstruction, means, logarithms of the variances, and draws."""
        zs, mus, logvars = self.encode(x)
        return self.decode(zs), mus, logvars, zs

    def compute_kl(self, mu_q: Tensor, logvar_q: Tensor, mu_p: Tensor, logvar_p: Tensor) -> Tensor:
        """The divergence of two normal distributions, q from p, summed over features, the mean of the batch."""
        terms = 0.5 * (logvar_p - logvar_q + (exp(logvar_q) + (mu_q - mu_p) ** 2) / exp(logvar_p) - 1)
        return terms.sum(axis=tuple(range(1, terms.ndim))).mean()

    def current_beta(self) -> float:
        """The weight of the divergence at this step."""
        return self.kl_weight if self.beta_schedule is None else self.beta_schedule(self.training_step)

    def _prior(self, level: int, zs: Sequence[Tensor], like: Tensor) -> Sequence[Tensor]:
        """Mean and logarithm of the variance that a level is expected to have."""
        if self.priors is None or level == self.depth - 1:
            return [zeros_like(like)] * 2
        return split(list(self.priors)[level](zs[level + 1]), 2, axis=1)

    def get_loss(self, x: Tensor, recon: Tensor, mus: Sequence[Tensor], logvars: Sequence[Tensor],
                 zs: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Total, reconstruction and divergence, weighted: sums over an example's features, means of the batch."""
        reconstruction = LOSSES[self.reconstruction_loss](recon, x, reduction="sum") / x.shape[0]
        beta = self.current_beta() / (self.depth if self.hierarchical_kl else 1)
        self.training_step += 1
        kl = sum((self.compute_kl(mus[level], logvars[level], *self._prior(level, zs, mus[level]))
                  for level in range(1, self.depth)),
                 self.compute_kl(mus[0], logvars[0], *self._prior(0, zs, mus[0]))) * beta
        return reconstruction + kl, reconstruction, kl
