"""Tests of the client against a real server, whose address is in DYGMAMBA_URL and token in DYGMAMBA_TOKEN."""

import os
import unittest

import dygmamba
from dygmamba import Client, Error, Event


class TestClient(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Client(os.environ["DYGMAMBA_URL"], token=os.environ.get("DYGMAMBA_TOKEN"))

    def test_events_and_questions(self) -> None:
        c = self.client
        self.assertTrue(c.ready())
        before = c.status()["last"]
        receipt = c.ingest([Event("u1", "v2", 2e6), {"src": "u1", "dst": "v3", "time": 2e6 + 1}], key="python")
        self.assertEqual((receipt.accepted, receipt.last), (2, before + 2))
        again = c.ingest([Event("u1", "v2", 2e6), {"src": "u1", "dst": "v3", "time": 2e6 + 1}], key="python")
        self.assertEqual(again, receipt)
        scores = c.score([("u1", "v3"), ("u1", "v2", 3e6)], min_as_of=receipt.last)
        self.assertEqual(len(scores.scores), 2)
        self.assertGreaterEqual(scores.as_of, receipt.last)
        self.assertTrue(0 < scores.scores[0].probability < 1)
        ranking = c.rank("u1", k=3)
        self.assertEqual(len(ranking.items), 3)
        self.assertGreaterEqual(ranking.items[0].logit, ranking.items[1].logit)
        named = c.rank("u1", k=2, candidates=["v1", "v2", "v3"], time=3e6)
        self.assertEqual(len(named.items), 2)
        self.assertIn("explanations", c.explain([("u1", "v3")], top=1))
        self.assertEqual(c.history("u1", limit=1)["latest"][0]["node"], "v3")
        self.assertIn("number", c.reload())

    def test_many_events_are_sent_in_batches(self) -> None:
        c = self.client
        events = [{"src": "u2", "dst": f"v{i % 9 + 1}", "time": 4e6 + i} for i in range(2500)]
        receipt = c.ingest(events, key="many", batch=1000)
        self.assertEqual(receipt.accepted, 2500)
        self.assertEqual(c.ingest(events, key="many", batch=1000), receipt)

    def test_corrections(self) -> None:
        c = self.client
        c.ingest([Event("u3", "v4", 6e6, id="python-1"), {"src": "u3", "dst": "v5", "time": 6e6 + 1}])
        self.assertEqual(c.retract(ids=["python-1"]), 1)
        with self.assertRaises(Error) as caught:
            c.retract(ids=["python-1"])
        self.assertEqual(caught.exception.status, 404)
        receipt = c.ingest([Event("somebody", "v5", 6e6 + 2)])
        self.assertEqual(c.retract(sequences=[receipt.last - 1]), 1)
        self.assertEqual(c.forget("somebody"), 1)

    def test_errors(self) -> None:
        with self.assertRaises(Error) as caught:
            self.client.ingest([{"src": "u1", "dst": "v2"}])
        self.assertEqual(caught.exception.status, 400)
        self.assertIn("time", caught.exception.problems[0].where)
        self.assertFalse(caught.exception.temporary)
        with self.assertRaises(Error) as caught:
            Client("http://127.0.0.1:1", tries=2, pause=0.001).status()
        self.assertEqual(caught.exception.status, 0)

    def test_frames(self) -> None:
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.DataFrame({"src": ["u1", "u2"], "dst": ["v1", "v2"], "time": [5e6, 5e6 + 1]})
        self.assertEqual(self.client.ingest(frame).accepted, 2)
        scored = self.client.score_frame(frame)
        self.assertEqual(list(scored.columns), ["src", "dst", "time", "logit", "probability"])
        self.assertEqual(len(self.client.rank("u1", k=2).frame()), 2)

    def test_all_names_exist(self) -> None:
        for name in dygmamba.__all__:
            self.assertTrue(hasattr(dygmamba, name))


if __name__ == "__main__":
    unittest.main()
