"""Writes orders.json: the order in which CPython walks sets of generated keys.

Any CPython from 3.7 to 3.11 gives the same file: python3 orders.py > orders.json
"""
import hashlib
import json


def keys(n, bound, seed):
    x, out = seed, []
    for _ in range(n):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append((x >> 33) % bound)
    return out


def digest(order):
    text = ";".join(str(k) if isinstance(k, int) else "%d,%d" % k for k in order)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


cases = []
for n in [0, 1, 3, 4, 5, 6, 18, 19, 20, 100, 1000, 30000, 70000, 180000]:
    for bound in [7, 300, 5000, 2**31 - 1]:
        a, b = keys(n, bound, 1), keys(n // 3 + 2, bound, 2)
        pa, pb = list(zip(a, keys(n, bound, 3))), list(zip(b, keys(n, bound, 4)))
        for kind, p, q in [("ints", a, b), ("pairs", pa, pb)]:
            x, y = set(p), set(q)
            few = set(q[: n // 9])
            late = set(list(x)[:5]) | few
            quarter = set(list(x)[: len(x) >> 2])
            cases.append({
                "kind": kind, "n": n, "bound": bound, "size": len(x),
                "set": digest(x), "copy": digest(x.copy()), "union": digest(x | y),
                "minus": digest(x - y), "minus_few": digest(x - few), "minus_twice": digest(x - late - y),
                "minus_then_few": digest(x - y - few), "minus_self": digest(x - x),
                "minus_quarter": digest(x - quarter), "few_by_few": digest(x - few - late),
            })
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
