"""Denoising diffusion: images out of noise, step by step.

Source: J. Ho, A. Jain, P. Abbeel, Denoising diffusion probabilistic models, arXiv:2006.11239.
"""

import numpy as np
from tqdm import tqdm

from .. import nn, random
from ..array import Tensor
from ..creation import asarray, full
from ..nn import functional as F
from ..ops.arithmetic import sqrt
from ..ops.extremes import clip
from ..tape import grad_mode
from .unet import UNet


class GaussianDiffuser(nn.Module):
    """Noise added in `timesteps` steps whose variances go evenly from beta_start to beta_end, and taken away again."""

    def __init__(self, timesteps: int = 1000, beta_start: float = 1e-4, beta_end: float = 0.02) -> None:
        super().__init__()
        self.timesteps = timesteps
        betas = np.linspace(beta_start, beta_end, timesteps)
        alphas_cumprod = np.cumprod(1 - betas)
        before = np.concatenate(([1.0], alphas_cumprod[:-1]))
        # The share of noise has a buffer of its own: 1 - alphas_cumprod would have few digits where little noise is.
        kept = {"betas": betas, "alphas_cumprod": alphas_cumprod,
                "share_of_image": np.sqrt(alphas_cumprod), "share_of_noise": np.sqrt(1 - alphas_cumprod),
                "posterior_var": betas * (1 - before) / (1 - alphas_cumprod),
                "weight_of_image": betas * np.sqrt(before) / (1 - alphas_cumprod),
                "weight_of_noisy": np.sqrt(1 - betas) * (1 - before) / (1 - alphas_cumprod)}
        for name, values in kept.items():
            self.register_buffer(name, values.astype(np.float32))

    def sample_timesteps(self, batch_size: int, device: str | None = None) -> Tensor:
        """Times drawn evenly, (batch_size,) integers."""
        return asarray(random.host().randint(0, self.timesteps, batch_size), device=device)

    def _at(self, values: Tensor, t: Tensor, like: Tensor) -> Tensor:
        """The values of times, to be multiplied with images."""
        return values[t].astype(like.dtype).reshape(-1, *(1,) * (like.ndim - 1))

    def add_noise(self, x_start: Tensor, t: Tensor, noise: Tensor) -> Tensor:
        """What images have become at times (batch,) (equation 4)."""
        return self._at(self.share_of_image, t, x_start) * x_start + self._at(self.share_of_noise, t, x_start) * noise

    def denoise(self, model: nn.Module, x: Tensor, t: Tensor, clip_denoised: bool = True) -> Tensor:
        """A draw of the images one step before (equations 7 and 15); images are clipped to [-1, 1] on the way."""
        image = (x - self._at(self.share_of_noise, t, x) * model(x, t)) / self._at(self.share_of_image, t, x)
        image = clip(image, -1.0, 1.0) if clip_denoised else image
        mean = self._at(self.weight_of_image, t, x) * image + self._at(self.weight_of_noisy, t, x) * x
        noise = random.next_key().normal(x.shape, dtype=x.dtype, device=x.device)
        return mean + sqrt(self._at(self.posterior_var, t, x)) * noise


class DDPM(nn.Module):
    """A diffusion model of images (batch, channels, image_size, image_size) in [-1, 1].

    `model` finds the noise in images at times, by default `UNet`; `diffuser` adds and takes away noise.

    >>> unet = lnb.models.UNet(1, 1, 8, (1, 2), 1, (), image_size=8)
    >>> model = lnb.models.DDPM(unet, image_size=8, channels=1, timesteps=4)
    >>> model(lnb.zeros((2, 1, 8, 8), dtype="float32")).shape, model.sample(3).shape
    ((), (3, 1, 8, 8))
    """

    def __init__(self, model: nn.Module | None = None, image_size: int = 32, channels: int = 3, timesteps: int = 1000,
                 diffuser: GaussianDiffuser | None = None, clip_denoised: bool = True) -> None:
        super().__init__()
        self.model = UNet(channels, channels, image_size=image_size) if model is None else model
        self.diffuser = GaussianDiffuser(timesteps) if diffuser is None else diffuser
        self.image_size, self.channels, self.timesteps = image_size, channels, self.diffuser.timesteps
        self.clip_denoised = clip_denoised

    def forward(self, x: Tensor) -> Tensor:
        """The loss: see get_loss."""
        return self.get_loss(x)

    def get_loss(self, x: Tensor) -> Tensor:
        """The mean squared error of the noise that the model finds, at times drawn for each image (equation 14)."""
        x = asarray(x)
        t = self.diffuser.sample_timesteps(x.shape[0], x.device)
        noise = random.next_key().normal(x.shape, dtype=x.dtype, device=x.device)
        return F.mse_loss(self.model(self.diffuser.add_noise(x, t, noise), t), noise)

    def sample(self, batch_size: int, progress: bool = False) -> Tensor:
        """New images in [-1, 1] or about, from noise in `timesteps` calls of the model; `progress` shows a bar."""
        betas = self.diffuser.betas
        shape = (batch_size, self.channels, self.image_size, self.image_size)
        with grad_mode(False):
            x = random.next_key().normal(shape, dtype=betas.dtype, device=betas.device)
            for step in tqdm(range(self.timesteps - 1, -1, -1), "sampling", disable=not progress):
                x = self.diffuser.denoise(self.model, x, full((batch_size,), step, dtype="int64", device=x.device),
                                          self.clip_denoised)
        return x
