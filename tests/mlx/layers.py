"""One tiny call of every function of nn.functional, layer, loss, initialiser and optimizer; read as calls.py."""

FUNCTIONAL = """
[F.adaptive_avg_pool1d(signal, 3), F.adaptive_avg_pool2d(image, 2), F.adaptive_avg_pool3d(volume, 2),
 F.avg_pool1d(signal, 2)]
[F.avg_pool2d(image, 3, 2, 1), F.avg_pool2d(image, 3, 2, 1, count_include_pad=False),
 F.avg_pool2d(image, 2, divisor_override=3), F.avg_pool3d(volume, 2)]
[F.adaptive_max_pool1d(signal, 3), F.adaptive_max_pool2d(image, 2), F.adaptive_max_pool3d(volume, 2),
 F.max_pool1d(signal, 2)]
[F.max_pool2d(image, 3, 2, 1), F.max_pool2d(image, 2, dilation=2, return_indices=True), F.max_pool2d(image > 0, 2),
 F.max_pool3d(volume, 2)]
[F.max_unpool1d(*F.max_pool1d(signal, 2, return_indices=True), 2),
 F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2)]
[F.max_unpool3d(*F.max_pool3d(volume, 2, return_indices=True), 2, output_size=(4, 5, 4)), F.lp_pool1d(signal, 2, 2),
 F.lp_pool2d(image, 2, 2), F.lp_pool3d(volume, 2, 2)]
[F.fractional_max_pool2d(image, 2, output_size=3), F.fractional_max_pool3d(volume, 2, output_size=2)]
[F.dropout(x, 0.4), F.dropout1d(signal), F.dropout2d(image), F.dropout3d(volume), F.alpha_dropout(x)]
[F.feature_alpha_dropout(image), F.drop_block(image, 2), F.drop_path(x), F.rrelu(x, training=True)]
[F.affine_grid(t[:, :2, :3], (2, 1, 3, 4)), F.grid_sample(image, grid), F.rotate(image, 30.0)]
[F.grid_sample(image, grid, "nearest", "border"), F.grid_sample(image, grid, "bicubic", "reflection", True)]
[F.batch_norm(image, None, None, training=True), F.batch_norm(image, v[:4], p[0] * p[0] + 1), F.instance_norm(image),
 F.layer_norm(x, 4, x[0], y[0])]
[F.group_norm(image, 2, x[0], y[0]), F.rms_norm(x, 4, x[0]), F.local_response_norm(image, 2),
 F.global_response_norm(image, *[a[0].reshape(1, 4, 1, 1) for a in (x, y)])]
[F.normalize(x), F.layer_norm(t, (3, 4)), F.rms_norm(t, (3, 4)), F.layer_norm(x, 4), F.layer_norm(same, 4),
 F.batch_norm(x, None, None, x[0], y[0], True)]
[F.bilinear(x, y, lnb.stack([x, y]).swapaxes(1, 2) @ x), F.linear(x, y, v[:3]), F.linear(t, y),
 F.linear(v, q.repeat(2, 1)[:, :5]), F.linear(c, c, z[:3]), F.embedding(k, m.repeat(2, 0)), F.one_hot(k)]
[F.embedding(i, x, padding_idx=1), F.embedding_bag(i, x), F.embedding_bag(i, x, mode="sum"),
 F.embedding_bag(i, x, mode="max"), F.embedding(i, x, scale_grad_by_freq=True)]
[F.celu(x), F.elu(x), F.gelu(x), F.gelu(x, "tanh"), F.glu(x), F.hardshrink(x), F.hardsigmoid(x), F.hardswish(x),
 F.hardtanh(x), F.leaky_relu(x)]
[F.log_softmax(x, 1), F.logsigmoid(x), F.mish(x), F.prelu(x, x[0]), F.relu(x), F.relu6(x), F.selu(x), F.sigmoid(x),
 F.silu(x), F.softmax(x, 0)]
[F.softmin(x, 1), F.softplus(x), F.softshrink(x), F.softsign(x), F.tanh(x), F.tanhshrink(x), F.threshold(x, 0.1, 2),
 F.rrelu(x)]
[F.binary_cross_entropy(F.sigmoid(x), F.sigmoid(y)), F.binary_cross_entropy_with_logits(x, F.sigmoid(y)),
 F.cross_entropy(x, j), F.nll_loss(F.log_softmax(x, 1), j)]
[F.cross_entropy(x, j, ignore_index=1), F.cross_entropy(x, j, p[0], label_smoothing=0.1),
 F.cross_entropy(x, F.softmax(y, 1)), F.cross_entropy(t, i[:2] % 3)]
[F.cosine_embedding_loss(x, y, lnb.sign(x[:, 0])), F.cosine_similarity(x, y), F.gaussian_nll_loss(x, y, p),
 F.hinge_embedding_loss(x, lnb.sign(y)), F.huber_loss(x, y)]
[F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1)), F.l1_loss(x, y), F.margin_ranking_loss(v, w, lnb.sign(v)),
 F.mse_loss(x, y), F.multi_margin_loss(x, j)]
[F.multilabel_margin_loss(x, i), F.multilabel_soft_margin_loss(x, F.sigmoid(y)), F.pairwise_distance(x, y), F.pdist(x),
 F.poisson_nll_loss(x, p)]
[F.smooth_l1_loss(x, y), F.soft_margin_loss(x, lnb.sign(y)), F.triplet_margin_loss(x, y, p),
 F.triplet_margin_with_distance_loss(x, y, p)]
[F.ctc_loss(F.log_softmax(t, 2), lnb.array([[1], [2], [1]]), [2, 2, 2], [1, 1, 1]), F.flatten(t), F.pad(x, (1, 1)),
 F.pad(image, (1, 1, 1, 1), "reflect")]
[F.conv1d(signal, kernel1), F.conv2d(image, kernel2, v[:3], 2, 1), F.conv3d(volume, kernel3),
 F.conv_general(image, kernel2), F.fold(F.unfold(image, 2), (6, 6), 2)]
[F.conv_transpose1d(signal, kernel1.swapaxes(0, 1)), F.conv_transpose2d(image, kernel2.swapaxes(0, 1), stride=2),
 F.conv_transpose3d(volume, kernel3.swapaxes(0, 1))]
[F.channel_shuffle(image, 2), F.pixel_shuffle(image, 2), F.pixel_unshuffle(image, 2),
 F.upsample(signal, scale_factor=2), F.interpolate(image, 4, mode="nearest-exact")]
[F.interpolate(image, (3, 9), mode="bilinear"), F.interpolate(image, 8, mode="bicubic"),
 F.interpolate(image, 3, mode="area"), F.interpolate(image, 4, mode="bilinear", antialias=True)]
[F.scaled_dot_product_attention(t, t, t), F.scaled_dot_product_attention(t, t, t, is_causal=True),
 F.scaled_dot_product_attention(t, t, t, attn_mask=masks)]
[F.scaled_dot_product_attention(t, t, t, attn_mask=q), F.scaled_dot_product_attention(t, t, t, dropout_p=0.3),
 F.scaled_dot_product_attention(image, image[:, :2], image[:, :2], enable_gqa=True)]
"""
LAYERS = """
[layer(nn.AdaptiveAvgPool1d(2), signal), layer(nn.AdaptiveAvgPool2d(2), image), layer(nn.AdaptiveAvgPool3d(2), volume),
 layer(nn.AdaptiveMaxPool1d(2), signal)]
[layer(nn.AdaptiveMaxPool2d(2), image), layer(nn.AdaptiveMaxPool3d(2), volume), layer(nn.AvgPool1d(2), signal),
 layer(nn.AvgPool2d(2), image), layer(nn.AvgPool3d(2), volume)]
[layer(nn.MaxPool1d(2), signal), layer(nn.MaxPool2d(2), image), layer(nn.MaxPool3d(2), volume),
 layer(nn.LPPool1d(2, 2), signal), layer(nn.LPPool2d(2, 2), image), layer(nn.LPPool3d(2, 2), volume)]
[layer(nn.MaxUnpool1d(2), *F.max_pool1d(signal, 2, return_indices=True)),
 layer(nn.MaxUnpool2d(2), *F.max_pool2d(image, 2, return_indices=True))]
[layer(nn.MaxUnpool3d(2), *F.max_pool3d(volume[..., :4, :], 2, return_indices=True)),
 layer(nn.FractionalMaxPool2d(2, output_size=3), image), layer(nn.FractionalMaxPool3d(2, output_size=2), volume)]
[layer(nn.AlphaDropout(), x), layer(nn.Dropout(), x), layer(nn.Dropout1d(), signal), layer(nn.Dropout2d(), image),
 layer(nn.Dropout3d(), volume), layer(nn.FeatureAlphaDropout(), image)]
[layer(nn.DropBlock(2), image), layer(nn.DropPath(0.5), image), layer(nn.RReLU(), x), layer(nn.PReLU(), x),
 layer(nn.BatchNorm1d(4), x), layer(nn.BatchNorm2d(4), image), layer(nn.BatchNorm3d(2), volume)]
[layer(nn.InstanceNorm1d(4, affine=True), signal), layer(nn.InstanceNorm2d(4), image),
 layer(nn.InstanceNorm3d(2, track_running_stats=True), volume), layer(nn.LayerNorm(4), x), layer(nn.RMSNorm(4), x)]
[layer(nn.GroupNorm(2, 4), image), layer(nn.LocalResponseNorm(2), image), layer(nn.GlobalResponseNorm(4), image),
 layer(nn.BatchNorm1d(4).eval(), x)]
[layer(nn.Linear(4, 2), x), layer(nn.Bilinear(4, 4, 2), x, y), layer(nn.Identity(), x), layer(nn.Flatten(), image),
 layer(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), x), layer(nn.Embedding(5, 2), k)]
[layer(nn.Conv1d(4, 2, 3), signal), layer(nn.Conv2d(4, 2, 3, groups=2), image), layer(nn.Conv3d(2, 2, 2), volume),
 layer(nn.EmbeddingBag(5, 2), i), layer(nn.Embedding(5, 2, padding_idx=0), k)]
[layer(nn.ConvTranspose1d(4, 2, 3), signal), layer(nn.ConvTranspose2d(4, 2, 3, 2, output_padding=1), image),
 layer(nn.ConvTranspose3d(2, 2, 2), volume), layer(nn.Unfold(2), image)]
[layer(nn.Fold((6, 6), 2), F.unfold(image, 2)), layer(nn.ChannelShuffle(2), image), layer(nn.PixelShuffle(2), image),
 layer(nn.PixelUnshuffle(2), image), layer(nn.Upsample(scale_factor=2), image)]
[layer(nn.UpsamplingBilinear2d(scale_factor=2), image), layer(nn.UpsamplingNearest2d(scale_factor=2), image),
 layer(nn.CosineSimilarity(), x, y), layer(nn.PairwiseDistance(), x, y)]
[layer(nn.CELU(), x), layer(nn.ELU(), x), layer(nn.GELU(), x), layer(nn.GLU(), x), layer(nn.Hardshrink(), x),
 layer(nn.Hardsigmoid(), x), layer(nn.Hardswish(), x), layer(nn.Hardtanh(), x), layer(nn.LeakyReLU(), x)]
[layer(nn.LogSigmoid(), x), layer(nn.LogSoftmax(1), x), layer(nn.Mish(), x), layer(nn.ReLU(), x), layer(nn.ReLU6(), x),
 layer(nn.SELU(), x), layer(nn.SiLU(), x), layer(nn.Sigmoid(), x), layer(nn.Softmax(1), x),
 layer(nn.Softmax2d(), image)]
[layer(nn.Softmin(1), x), layer(nn.Softplus(), x), layer(nn.Softshrink(), x), layer(nn.Softsign(), x),
 layer(nn.Swish(), x), layer(nn.Tanh(), x), layer(nn.Tanhshrink(), x), layer(nn.Threshold(0.1, 2), x)]
[layer(nn.CircularPad1d(1), signal), layer(nn.CircularPad2d(1), image), layer(nn.CircularPad3d(1), volume),
 layer(nn.ConstantPad1d(1, 2.0), signal), layer(nn.ConstantPad2d(1, 2.0), image),
 layer(nn.ConstantPad3d(1, 2.0), volume)]
[layer(nn.ReflectionPad1d(1), signal), layer(nn.ReflectionPad2d(1), image), layer(nn.ReflectionPad3d(1), volume),
 layer(nn.ReplicationPad1d(1), signal), layer(nn.ReplicationPad2d(1), image), layer(nn.ReplicationPad3d(1), volume)]
[layer(nn.ZeroPad1d(1), signal), layer(nn.ZeroPad2d(1), image), layer(nn.ZeroPad3d(1), volume),
 layer(nn.Rearrange("b c h w -> b (c h) w"), image), layer(nn.Reduce("b c h w -> b c", "mean"), image)]
[layer(nn.EinMix("b c l -> b l d", weight_shape="c d", c=4, d=2), signal), layer(nn.LSTM(4, 3), t),
 layer(nn.GRU(4, 3, batch_first=True), t), layer(nn.RNN(4, 3, nonlinearity="relu"), t), layer(nn.RNN(4, 3), t)]
[layer(nn.LSTM(4, 3, 2, bidirectional=True), t), layer(nn.LSTM(4, 3, proj_size=2), t), layer(nn.LSTMCell(4, 3), x),
 layer(nn.GRUCell(4, 3), x), layer(nn.RNNCell(4, 3), x)]
[layer(nn.MultiheadAttention(4, 2), t, t, t), layer(nn.MultiHeadAttention(4, 2), t, t, t),
 layer(nn.ScaledDotProductAttention(), t, t, t), layer(nn.TransformerEncoderLayer(4, 2, 8, 0.0), t)]
[layer(nn.TransformerDecoderLayer(4, 2, 8, 0.0), t, t), layer(nn.Transformer(4, 2, 1, 1, 8, 0.0), t, t),
 layer(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.1), 1), t)]
[layer(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.1), 1), t, t)]
"""
LOSSES = """
[layer(nn.BCELoss(), F.sigmoid(x), F.sigmoid(y)), layer(nn.BCEWithLogitsLoss(), x, F.sigmoid(y)),
 layer(nn.CrossEntropyLoss(), x, j), layer(nn.NLLLoss(), F.log_softmax(x, 1), j)]
[layer(nn.CTCLoss(), F.log_softmax(t, 2), lnb.array([[1], [2], [1]]), [2, 2, 2], [1, 1, 1]),
 layer(nn.CosineEmbeddingLoss(), x, y, lnb.sign(x[:, 0])), layer(nn.GaussianNLLLoss(), x, y, p)]
[layer(nn.HingeEmbeddingLoss(), x, lnb.sign(y)), layer(nn.HuberLoss(), x, y),
 layer(nn.KLDivLoss(), x, F.softmax(y, 1)), layer(nn.L1Loss(), x, y), layer(nn.MSELoss(), x, y),
 layer(nn.MarginRankingLoss(), v, w, lnb.sign(v))]
[layer(nn.MultiLabelMarginLoss(), x, i), layer(nn.MultiLabelSoftMarginLoss(), x, F.sigmoid(y)),
 layer(nn.MultiMarginLoss(), x, j), layer(nn.PoissonNLLLoss(), x, p), layer(nn.SmoothL1Loss(), x, y)]
[layer(nn.SoftMarginLoss(), x, lnb.sign(y)), layer(nn.TripletMarginLoss(), x, y, p),
 layer(nn.TripletMarginWithDistanceLoss(), x, y, p)]
"""
TRAINING = """
[trained(optim.SGD, lr=0.1), trained(optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
 trained(optim.Adam, lr=0.1), trained(optim.Adam, amsgrad=True, weight_decay=0.1)]
[trained(optim.AdamW, lr=0.1), trained(optim.AdamW, lr=0.1, amsgrad=True)]
[after(lambda a: nn.init.constant_(a, 2.0), x), after(nn.init.kaiming_normal_, x), after(nn.init.kaiming_uniform_, x),
 after(nn.init.normal_, x), after(nn.init.ones_, x), after(nn.init.uniform_, x)]
[after(nn.init.xavier_normal_, x), after(nn.init.xavier_uniform_, x), after(nn.init.zeros_, x),
 nn.init.calculate_gain("relu")]
"""
NETWORKS = {"functional": FUNCTIONAL, "layers": LAYERS, "losses": LOSSES, "training": TRAINING}
