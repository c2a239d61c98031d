"""Client of ``dygmamba serve``: add events, and ask who interacts next.

One file, standard library only. Frames of pandas are taken and returned where pandas is installed.

    from dygmamba import Client

    client = Client("http://127.0.0.1:8080", token="…")
    receipt = client.ingest([{"src": "u1", "dst": "v3", "time": 90001}])
    print(client.score([("u1", "v3")], min_as_of=receipt.last).scores[0].probability)
    print(client.rank("u1", k=3).items)

Requests that fail for a while (429, 502, 503, 504, no connection) are sent again. Events are sent under an idempotency
key, so that they are added once. /v1/openapi.json of the server describes all requests.
"""

from __future__ import annotations

import gzip
import json
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

__all__ = ["Client", "Error", "Event", "Item", "Problem", "Ranking", "Receipt", "Score", "Scores"]

Node = Union[str, int]
Time = Union[float, int, str]


@dataclass(frozen=True)
class Event:
    """An interaction. Times are numbers in the unit of the data, or dates where its times are dates."""

    src: Node
    dst: Node
    time: Time
    label: Optional[float] = None
    features: Optional[Sequence[float]] = None
    kind: Optional[str] = None
    id: Optional[str] = None  # by which it can be retracted; unique among the events of a token
    columns: Optional[Mapping[str, Any]] = None  # values of all feature columns by their imported names

    def document(self) -> Dict[str, Any]:
        doc: Dict[str, Any] = {"src": self.src, "dst": self.dst, "time": self.time}
        if self.label is not None:
            doc["label"] = self.label
        if self.features is not None:
            doc["features"] = [float(x) for x in self.features]
        if self.kind is not None:
            doc["kind"] = self.kind
        if self.id is not None:
            doc["id"] = self.id
        if self.columns is not None:
            doc["columns"] = {name: _plain(value) for name, value in self.columns.items()}
        return doc


@dataclass(frozen=True)
class Receipt:
    """How many events were added, and the sequence of the last."""

    accepted: int
    last: int


@dataclass(frozen=True)
class Score:
    logit: float
    probability: Optional[float]  # None of a model that tells values
    label: Optional[str] = None  # the likeliest class, of a model that tells classes with names
    classes: Optional[Dict[str, float]] = None  # how likely each is
    value: Optional[float] = None  # of a model that tells values


@dataclass(frozen=True)
class Scores:
    """Scores in the order of the queries. as_of is the sequence of the last event that they take into account."""

    scores: List[Score]
    as_of: int


@dataclass(frozen=True)
class Item:
    """A ranked destination. meetings is the number of earlier events of the pair."""

    dst: Node
    logit: float
    probability: float
    meetings: int


@dataclass(frozen=True)
class Ranking:
    items: List[Item]
    as_of: int

    def frame(self) -> Any:
        """The items as a pandas frame."""
        import pandas  # type: ignore

        rows = [(i.dst, i.logit, i.probability, i.meetings) for i in self.items]
        return pandas.DataFrame(rows, columns=["dst", "logit", "probability", "meetings"])


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a request: where, what was found, and what would have been right."""

    where: str
    found: str
    want: str


class Error(Exception):
    """An error response of the server, or no response at all (status 0)."""

    def __init__(self, status: int, kind: str, message: str, problems: Sequence[Problem] = (), after: float = 0) -> None:
        super().__init__(f"{message} ({status} {kind})")
        self.status, self.kind, self.message = status, kind, message
        self.problems, self.after = list(problems), after

    @property
    def temporary(self) -> bool:
        """The same request may succeed later."""
        return self.status in (0, 429, 502, 503, 504)


EventLike = Union[Event, Mapping[str, Any]]
QueryLike = Union[Tuple[Node, Node], Tuple[Node, Node, Optional[Time]], Mapping[str, Any]]


@dataclass
class Client:
    """Talks to one server. It may be used by several threads."""

    url: str = "http://127.0.0.1:8080"
    token: Optional[str] = field(default=None, repr=False)
    timeout: float = 35.0  # seconds, of one attempt
    tries: int = 5
    pause: float = 0.1  # seconds before the second attempt, doubled before each further one
    context: Optional[ssl.SSLContext] = None  # certificates of an https server and of this client
    compress: int = 16384  # bodies of at least this many bytes are compressed

    def ingest(self, events: Any, key: Optional[str] = None, batch: int = 10_000) -> Receipt:
        """Adds events: Event, mappings with src, dst, time, label?, features?, kind?, columns?, or a pandas frame with such columns.

        All events of a batch are added or none. Sending the same events again under the same key adds nothing.
        """
        documents = list(_documents(events))
        key = key or uuid.uuid4().hex
        accepted, last = 0, 0
        for number, lo in enumerate(range(0, len(documents), batch)):
            part = documents[lo : lo + batch]
            name = key if len(documents) <= batch else f"{key}/{number}"
            doc = self._call("POST", "/v1/events", {"events": part}, {"Idempotency-Key": name})
            accepted, last = accepted + doc["accepted"], doc["last"]
        return Receipt(accepted, last)

    def score(self, queries: Iterable[QueryLike], min_as_of: int = 0) -> Scores:
        """How likely do pairs interact? Queries are (src, dst) or (src, dst, time). Waits until min_as_of is known."""
        doc = self._call("POST", "/v1/score", _body({"queries": [_query(q) for q in queries]}, min_as_of))
        return Scores([Score(s["logit"], s.get("probability"), s.get("class"), s.get("classes"),
                             s.get("value")) for s in doc["scores"]], doc["as_of"])

    def score_frame(self, frame: Any, min_as_of: int = 0, batch: int = 5_000) -> Any:
        """A copy of a pandas frame with columns src, dst and perhaps time, and with logit and probability added."""
        rows = frame.to_dict("records")
        scores: List[Score] = []
        for lo in range(0, len(rows), batch):
            some = [{k: _plain(r[k]) for k in ("src", "dst", "time") if k in r} for r in rows[lo : lo + batch]]
            scores += self.score(some, min_as_of).scores
        return frame.assign(logit=[s.logit for s in scores], probability=[s.probability for s in scores])

    def rank(self, src: Node, k: int = 10, time: Optional[Time] = None,
             candidates: Optional[Sequence[Node]] = None, min_as_of: int = 0, exact: bool = False,
             kind: Optional[str] = None) -> Ranking:
        """The k most likely next destinations of a node, among all destinations or among candidates.

        Of many candidates, the server scores those that are likely to be among the best; with exact, all of them.
        A model of the task kind ranks by a kind.
        """
        body: Dict[str, Any] = {"src": src, "k": k}
        if time is not None:
            body["time"] = time
        if candidates is not None:
            body["candidates"] = list(candidates)
        if exact:
            body["exact"] = True
        if kind is not None:
            body["kind"] = kind
        doc = self._call("POST", "/v1/rank", _body(body, min_as_of))
        items = [Item(i["dst"], i["logit"], i["probability"], i.get("meetings", 0)) for i in doc["items"]]
        return Ranking(items, doc["as_of"])

    def explain(self, queries: Iterable[QueryLike], top: Optional[int] = None, min_as_of: int = 0) -> Dict[str, Any]:
        """What scores rest on, as the server says it."""
        body: Dict[str, Any] = {"queries": [_query(q) for q in queries]}
        if top is not None:
            body["top"] = top
        return self._call("POST", "/v1/explain", _body(body, min_as_of))

    def history(self, node: Node, limit: int = 100) -> Dict[str, Any]:
        """The latest events of a node."""
        return self._call("GET", f"/v1/nodes/{urllib.parse.quote(str(node), safe='')}/history?limit={limit}")

    def retract(self, ids: Optional[Sequence[str]] = None, sequences: Optional[Sequence[int]] = None) -> int:
        """Removes events by id or by sequence, all of them or none. Returns how many there were."""
        if (ids is None) == (sequences is None):
            raise ValueError("want either ids or sequences")
        body = {"ids": list(ids)} if ids is not None else {"sequences": [int(n) for n in sequences or ()]}
        return int(self._call("POST", "/v1/retractions", body)["retracted"])

    def forget(self, node: Node, side: Optional[str] = None) -> int:
        """Erases a node, its events and its name. Returns how many events there were. Needs the right admin."""
        query = "" if side is None else "?side=" + urllib.parse.quote(side)
        return int(self._call("DELETE", f"/v1/nodes/{urllib.parse.quote(str(node), safe='')}{query}")["events"])

    def status(self) -> Dict[str, Any]:
        return self._call("GET", "/v1/status")

    def ready(self) -> bool:
        """Whether the server takes events and answers now."""
        try:
            self._once("GET", "/readyz", None, {})
        except Error:
            return False
        return True

    def reload(self, checkpoint: Optional[str] = None) -> Dict[str, Any]:
        """Loads the model again, or another one. Needs the right admin."""
        return self._call("POST", "/v1/admin/reload", {"checkpoint": checkpoint} if checkpoint else {})

    def _call(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = {}) -> Any:
        pause = self.pause
        for attempt in range(1, self.tries + 1):
            try:
                return json.loads(self._once(method, path, body, headers))
            except Error as error:
                if not error.temporary or attempt == self.tries:
                    raise
                time.sleep(max(pause * (0.5 + random.random()), min(error.after, 30)))
                pause = min(2 * pause, 10)
        raise AssertionError("tries must be at least 1")

    def _once(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> bytes:
        data, head = None, dict(headers)
        if body is not None:
            data = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
            head["Content-Type"] = "application/json"
            if len(data) >= self.compress:
                data, head["Content-Encoding"] = gzip.compress(data, 1), "gzip"
        if self.token:
            head["Authorization"] = "Bearer " + self.token
        request = urllib.request.Request(self.url.rstrip("/") + path, data, head, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout, context=self.context) as answer:
                return answer.read()
        except urllib.error.HTTPError as answer:
            raise _error(answer) from None
        except (OSError, urllib.error.URLError) as broken:
            raise Error(0, "no_answer", f"{self.url} does not answer: {broken}") from broken


def _error(answer: urllib.error.HTTPError) -> Error:
    try:
        doc = json.loads(answer.read())["error"]
    except (ValueError, KeyError, OSError):
        doc = {"kind": "unknown", "message": answer.reason}
    problems = [Problem(p["where"], p["found"], p["want"]) for p in doc.get("problems", [])]
    try:
        after = float(answer.headers.get("Retry-After") or 0)
    except ValueError:
        after = 0.0
    return Error(answer.code, doc.get("kind", "unknown"), doc.get("message", ""), problems, after)


def _body(body: Dict[str, Any], min_as_of: int) -> Dict[str, Any]:
    if min_as_of:
        body["min_as_of"] = min_as_of
    return body


def _query(q: QueryLike) -> Dict[str, Any]:
    if isinstance(q, Mapping):
        return {k: v for k, v in q.items() if v is not None}
    doc: Dict[str, Any] = {"src": _plain(q[0]), "dst": _plain(q[1])}
    if len(q) > 2 and q[2] is not None:
        doc["time"] = _plain(q[2])
    return doc


def _documents(events: Any) -> Iterator[Dict[str, Any]]:
    if hasattr(events, "to_dict") and hasattr(events, "columns"):  # a pandas frame
        known = [c for c in ("src", "dst", "time", "label", "features", "kind", "columns") if c in events.columns]
        for row in events[known].to_dict("records"):
            yield {name: _plain(value) for name, value in row.items()}
        return
    for event in events:
        yield event.document() if isinstance(event, Event) else dict(event)


def _plain(value: Any) -> Any:
    """A value that JSON has, for numbers of numpy and times of pandas."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
