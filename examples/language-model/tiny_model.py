"""A decoder of one layer, with attention over the whole sequence and no cache."""

from tvm.relax.frontend import nn

VOCABULARY, HIDDEN, HEADS, INNER = 96, 32, 4, 64


class Attention(nn.Module):
    def __init__(self):
        self.queries = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.keys = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.values = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def forward(self, x: nn.Tensor):
        batch, length, _ = x.shape
        split = (batch, length, HEADS, HIDDEN // HEADS)
        q, k, v = (nn.op.reshape(project(x), split) for project in (self.queries, self.keys, self.values))
        q, k, v = (nn.op.permute_dims(part, (0, 2, 1, 3)) for part in (q, k, v))
        scores = nn.op.matmul(q, nn.op.permute_dims(k, (0, 1, 3, 2))) * (HIDDEN // HEADS) ** -0.5
        mixed = nn.op.matmul(nn.op.softmax(scores, axis=-1), v)
        return self.out(nn.op.reshape(nn.op.permute_dims(mixed, (0, 2, 1, 3)), (batch, length, HIDDEN)))


class FeedForward(nn.Module):
    def __init__(self):
        self.up = nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x: nn.Tensor):
        gate, up = nn.op.split(self.up(x), 2, axis=-1)
        return self.down(nn.op.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self):
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.before_attention = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.attention = Attention()
        self.before_feed_forward = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.feed_forward = FeedForward()
        self.logits = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def prefill(self, tokens: nn.Tensor):
        x = self.embedding(tokens)
        x = x + self.attention(self.before_attention(x))
        x = x + self.feed_forward(self.before_feed_forward(x))
        return self.logits(x)


SPECIFICATION = {"prefill": {"tokens": nn.spec.Tensor([1, "n"], "int32"), "$": {"effect_mode": "none"}}}
module, _ = Decoder().export_tvm(SPECIFICATION)
