"""What PyTorch draws: python3 draws.py > draws.txt

Written by PyTorch 1.13.0 (Debian's 1.13.1+dfsg-4) and NumPy 1.24.2 on an x86-64 processor with AVX2; PyTorch
2.11.0 (its own wheel for CUDA 13.0) and NumPy 2.5.2 write the same bytes. A line is: case, parameter, shape, the first
16 digits of the SHA-256 of the little-endian float32 values, the first three values and the last three.

Layers come first, then whole models at their published sizes, as the reference programs construct them: DyGLib's
models, each followed by its link predictor, and CTAN of its authors, whose layers PyTorch Geometric 2.3.1 makes.
"""
import hashlib
import math

import numpy as np
import torch
from torch import nn

NODE, EDGE, TIME = 172, 172, 100


def time_encoder(width):
    m = nn.ModuleDict({"w": nn.Linear(1, width)})
    nn.init.zeros_(m["w"].bias)
    m["w"].weight.data = torch.from_numpy(1 / 10 ** np.linspace(0, 9, width, dtype=np.float32)).reshape(width, 1)
    return m


def merge(width, hidden, out):
    return nn.ModuleDict({"fc1": nn.Linear(width, hidden), "fc2": nn.Linear(hidden, out)})


def temporal_attention(q, k):
    return nn.ModuleDict({
        "query_projection": nn.Linear(q, q, bias=False),
        "key_projection": nn.Linear(k, q, bias=False),
        "value_projection": nn.Linear(k, q, bias=False),
        "layer_norm": nn.LayerNorm(q),
        "residual_fc": nn.Linear(q, q)})


def transformer(width, heads):
    return nn.ModuleDict({
        "multi_head_attention": nn.MultiheadAttention(width, heads),
        "linear_layers": nn.ModuleList([nn.Linear(width, 4 * width), nn.Linear(4 * width, width)]),
        "norm_layers": nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])})


def feed_forward(width, hidden):
    return nn.ModuleDict({"ffn": nn.Sequential(
        nn.Linear(width, hidden), nn.GELU(), nn.Dropout(), nn.Linear(hidden, width), nn.Dropout())})


def mixer(tokens, width):
    return nn.ModuleDict({
        "token_norm": nn.LayerNorm(tokens), "token_feedforward": feed_forward(tokens, tokens // 2),
        "channel_norm": nn.LayerNorm(width), "channel_feedforward": feed_forward(width, 4 * width)})


def bilstm(width):
    return nn.ModuleDict({"bilstm_encoder": nn.LSTM(width, width // 2, bidirectional=True)})


def mlp(a, b, c):
    return nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, c))


class AntiSymmetric(nn.Module):
    def __init__(self, width, edge):
        super().__init__()
        phi = nn.ModuleDict({  # PyTorch Geometric's linear maps draw as PyTorch's
            "lin_key": nn.Linear(width, width), "lin_query": nn.Linear(width, width),
            "lin_value": nn.Linear(width, width), "lin_edge": nn.Linear(edge, width, bias=False),
            "lin_skip": nn.Linear(width, width)})
        again = lambda: [part.reset_parameters() for part in phi.values()]
        again()  # at the end of phi's constructor
        self.W, self.bias, self.phi = nn.Parameter(torch.empty(width, width)), nn.Parameter(torch.zeros(width)), phi
        nn.init.kaiming_uniform_(self.W, a=math.sqrt(5))
        again()  # at the end of this layer's


def memory_model(cell, embedding):
    m = nn.ModuleDict({"time_encoder": time_encoder(TIME)})
    m["memory_updater"] = nn.ModuleDict({"memory_updater": cell(2 * NODE + TIME + EDGE, NODE)})
    m["embedding_module"] = embedding()
    return m


def graph_attention(layers):
    return nn.ModuleDict({
        "temporal_conv_layers": nn.ModuleList(
            [temporal_attention(NODE + TIME, NODE + EDGE + TIME) for _ in range(layers)]),
        "merge_layers": nn.ModuleList([merge(NODE + TIME + NODE, NODE, NODE) for _ in range(layers)])})


def tgat():
    m = nn.ModuleDict({"time_encoder": time_encoder(TIME)})
    m.update(graph_attention(2))
    return m


def cawn(position=172, walk=1, heads=8):
    m = nn.ModuleDict({
        "time_encoder": time_encoder(TIME),
        "position_encoder": nn.ModuleDict({"position_encode_layer": mlp(walk + 1, position, position)})})
    width = NODE + EDGE + TIME + position
    half = -(-(width // 2) // heads) * heads
    m["walk_encoder"] = nn.ModuleDict({
        "feature_encoder": bilstm(width), "position_encoder": bilstm(position),
        "transformer_encoder": transformer(half, heads),
        "projection_layers": nn.ModuleList([nn.Linear(width + position, half), nn.Linear(half, NODE)])})
    return m


def tcl(neighbours=20):
    return nn.ModuleDict({
        "time_encoder": time_encoder(TIME), "depth_embedding": nn.Embedding(neighbours + 1, NODE),
        "projection_layer": nn.ModuleDict(
            {"node": nn.Linear(NODE, NODE), "edge": nn.Linear(EDGE, NODE), "time": nn.Linear(TIME, NODE)}),
        "transformers": nn.ModuleList([transformer(NODE, 2) for _ in range(2)]), "output_layer": nn.Linear(NODE, NODE)})


def graphmixer(tokens=20):
    return nn.ModuleDict({
        "time_encoder": time_encoder(TIME), "projection_layer": nn.Linear(EDGE + TIME, EDGE),
        "mlp_mixers": nn.ModuleList([mixer(tokens, EDGE) for _ in range(2)]),
        "output_layer": nn.Linear(EDGE + NODE, NODE)})


def dygformer(channel=50, patch=2):
    return nn.ModuleDict({
        "time_encoder": time_encoder(TIME),
        "neighbor_co_occurrence_encoder": nn.ModuleDict(
            {"neighbor_co_occurrence_encode_layer": mlp(1, channel, channel)}),
        "projection_layer": nn.ModuleDict({
            "node": nn.Linear(patch * NODE, channel), "edge": nn.Linear(patch * EDGE, channel),
            "time": nn.Linear(patch * TIME, channel), "neighbor_co_occurrence": nn.Linear(patch * channel, channel)}),
        "transformers": nn.ModuleList([transformer(4 * channel, 2) for _ in range(2)]),
        "output_layer": nn.Linear(4 * channel, NODE)})


def ctan(width=128, edge=100, time=16):
    m = nn.ModuleDict({"gnn": nn.ModuleDict({
        "enc_x": nn.Linear(width + 1, width), "aconv": AntiSymmetric(width, edge + time),
        "time_enc": nn.ModuleDict({"lin": nn.Linear(1, time)})})})
    m["readout"] = nn.ModuleDict({
        "lin_src": nn.Linear(width, width // 2), "lin_dst": nn.Linear(width, width // 2),
        "lin_final": nn.Linear(width // 2, 1)})
    return m


def small_tables():
    return nn.ModuleList([nn.Embedding(n, 1) for n in (1, 3, 15, 16, 17, 2, 31, 7, 32, 5)])


layers = {
    "linear": lambda: nn.Linear(7, 5), "projection": lambda: nn.Linear(7, 5, bias=False),
    "layer_norm": lambda: nn.LayerNorm(5),
    "embedding": lambda: nn.Embedding(21, 172), "small_embeddings": small_tables,
    "multi_head": lambda: nn.MultiheadAttention(12, 3), "transformer": lambda: transformer(12, 3),
    "temporal_attention": lambda: temporal_attention(14, 22), "merge": lambda: merge(11, 8, 1),
    "feed_forward": lambda: feed_forward(6, 24), "time_encoder": lambda: time_encoder(10),
    "rnn": lambda: nn.RNNCell(9, 5), "gru": lambda: nn.GRUCell(9, 5),
    "bilstm": lambda: nn.LSTM(9, 5, bidirectional=True),
    "antisymmetric": lambda: AntiSymmetric(8, 12)}
models = {
    "jodie": lambda: memory_model(nn.RNNCell, lambda: nn.ModuleDict({"linear_layer": nn.Linear(1, NODE)})),
    "dyrep": lambda: memory_model(nn.RNNCell, lambda: graph_attention(1)),
    "tgn": lambda: memory_model(nn.GRUCell, lambda: graph_attention(1)),
    "tgat": tgat, "cawn": cawn, "tcl": tcl, "graphmixer": graphmixer, "dygformer": dygformer}


def report(case, make):
    torch.manual_seed(3)
    for name, p in make().named_parameters():
        x = p.detach().numpy().astype("<f4").ravel()
        shape = "x".join(str(n) for n in p.shape)
        ends = [f"{v:.9g}" for v in (*x[:3], *x[-3:])]
        print(case, name, shape, hashlib.sha256(x.tobytes()).hexdigest()[:16], *ends)


for case, make in layers.items():  # a linear map after each, to see where the draws have arrived
    report(case, lambda: nn.ModuleDict({"layer": make(), "after": nn.Linear(3, 2)}))
for case, make in models.items():
    report(case, lambda: nn.Sequential(make(), merge(2 * NODE, NODE, 1)))
report("ctan", ctan)
