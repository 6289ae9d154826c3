# SPDX-License-Identifier: MIT
"""bench/gpu_compare on made-up results."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
SCRIPT = BENCH / "gpu_compare"


def case(name, op, shape, us, gb_per_s):
    return {"case": name, "op": op, "dtype": "bf16", "shape": shape, "time_us_p50": us,
            "gb_per_s": gb_per_s, "share_of_roof": 0.5}


NORITE = {"device_name": "a GPU", "roof_gb_per_s": 4000.0, "results": [
    case("norm", "rms_norm", [64, 4096], 100.0, 3800.0),
    case("heads", "fused_head_norm_rope", [8, 4, 128], 50.0, 2000.0),
    case("d", "flash_attn_train_bwd_compute_d", [256, 128], 20.0, 4200.0),
    case("d of another size", "flash_attn_train_bwd_compute_d", [1024, 128], 80.0, 3000.0),
    case("d of another head_dim", "flash_attn_train_bwd_compute_d", [1024, 64], 80.0, 3000.0),
    case("norm of another size", "rms_norm", [128, 4096], 200.0, 3800.0),
    case("alone", "rope", [8, 4, 128], 10.0, 1000.0),
], "graphs": [
    {"graph": "graph[bf16,gemma_block,batch=1,eager]", "time_us_p50": 90.0},
    {"graph": "graph[bf16,decode,rms_norm,rows=8,dim=4096]", "operations": 64,
     "time_us_p50": 64 * 1.5},
    {"graph": "graph[f32,decode,rms_norm,rows=8,dim=4096]", "operations": 64,
     "time_us_p50": 64 * 2.5},
    {"graph": "graph[bf16,decode,rms_norm,rows=8,dim=4096,chained]", "operations": 64,
     "time_us_p50": 64 * 1.6},
]}
DECODE = "graph[bf16,decode,rms_norm,rows=8,dim=4096]"
PEERS = {"roof_GBps": 4200.0, "rows": [
    {"op": "rms_norm", "peer": "slow", "dtype": "bf16", "shape": [64, 4096], "us": 400.0,
     "GBps": 950.0},
    {"op": "rms_norm", "peer": "fast", "dtype": "bf16", "shape": [64, 4096], "us": 110.0,
     "GBps": 3454.5},
    {"op": "rms_norm", "peer": "other dtype", "dtype": "f32", "shape": [64, 4096], "us": 1.0,
     "GBps": 1.0},
    {"op": "rms_norm", "peer": "other rows", "dtype": "bf16", "shape": [128, 2048], "us": 1.0,
     "GBps": 1.0},
    {"op": "head_norm_rope", "peer": "fast", "dtype": "bf16", "shape": [8, 4, 128], "us": 25.0},
    {"op": "attention D pre-pass", "peer": "fast", "dtype": "bf16", "shape": [2, 8, 16, 128],
     "us": 30.0, "GBps": 2100.0},
    {"op": "attention D pre-pass", "peer": "slow", "dtype": "bf16", "shape": [2, 8, 8, 128],
     "us": 20.0, "GBps": 1050.0},
    {"op": "rms_norm decode (graph)", "peer": "slow", "dtype": "bf16", "shape": [8, 4096],
     "us": 4.0},
    {"op": "rms_norm decode (graph)", "peer": "fast", "dtype": "bf16", "shape": [8, 4096],
     "us": 3.0},
    {"op": "rms_norm decode (graph)", "peer": "fast", "dtype": "bf16", "shape": [64, 4096],
     "us": 1.0},
    {"op": "attention fwd", "peer": "fast", "dtype": "bf16", "shape": [2, 8, 16, 128, True],
     "us": 30.0},
]}


class GpuCompare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.norite = self.save("norite.json", json.dumps(NORITE))
        self.peers = self.save("peers.json", json.dumps(PEERS))

    def save(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True,
                              text=True)

    def report(self, *arguments):
        done = self.run_script("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["case"]: row for row in json.loads(done.stdout)["results"]}

    def expect_compared(self, rows):
        self.assertEqual(rows["norm"]["peer"], "fast")
        self.assertAlmostEqual(rows["norm"]["share"], 0.95)
        self.assertAlmostEqual(rows["norm"]["peer_share"], 3454.5 / 4200)
        self.assertAlmostEqual(rows["norm"]["ratio"], 1.1)
        self.assertAlmostEqual(rows["heads"]["ratio"], 0.5)
        self.assertNotIn("peer_share", rows["heads"])
        self.assertAlmostEqual(rows["d"]["share"], 1.05)  # of copying, whatever bounds it
        self.assertAlmostEqual(rows["d"]["ratio"], 1.5)
        self.assertEqual(rows["d"]["compared_by"], "time")
        self.assertNotIn("peer", rows["alone"])
        self.assertNotIn("peer", rows["norm of another size"])

    def test_decode(self):
        rows = self.report("--norite-json", self.norite, "--peers-json", self.peers)
        self.assertEqual(rows[DECODE]["peer"], "fast")
        self.assertAlmostEqual(rows[DECODE]["us"], 1.5)
        self.assertAlmostEqual(rows[DECODE]["ratio"], 2.0)
        self.assertNotIn("peer", rows[DECODE.replace("bf16", "f32")])
        # Others measure norms that do not wait for each other.
        self.assertEqual([name for name in rows if name.startswith("graph[")],
                         [DECODE, DECODE.replace("bf16", "f32")])

    def test_shares_where_sizes_differ(self):
        rows = self.report("--norite-json", self.norite, "--peers-json", self.peers)
        row = rows["d of another size"]
        self.assertEqual(row["compared_by"], "share")
        self.assertEqual(row["peer_shape"], [2, 8, 16, 128])
        self.assertAlmostEqual(row["ratio"], (3000 / 4000) / (2100 / 4200))
        self.assertNotIn("peer", rows["d of another head_dim"])
        done = self.run_script("--norite-json", self.norite, "--peers-json", self.peers)
        marked = [line for line in done.stdout.splitlines() if line.endswith(" *")]
        self.assertEqual(len(marked), 1, done.stdout)
        self.assertIn("fast 2x8x16x128", marked[0])
        self.assertIn("a ratio of shares", done.stdout)

    def test_results_of_this_repository(self):
        stored = BENCH / "results"
        rows = self.report("--norite-json", str(stored / "h200.json"),
                           "--peers-json", str(stored / "h200_peers.json"))
        for kind, count in (("graph[bf16,decode,", 5),
                            ("flash_attn_train_bwd_compute_d[bf16,", 3)):
            ratios = [row["ratio"] for name, row in rows.items() if name.startswith(kind)]
            self.assertEqual(len(ratios), count, kind)

    def test_saved_results(self):
        self.expect_compared(self.report("--norite-json", self.norite, "--peers-json", self.peers))

    def test_without_peers(self):
        rows = self.report("--norite-json", self.norite)
        self.assertAlmostEqual(rows["norm"]["share"], 0.95)
        self.assertNotIn("peer", rows["norm"])

    def test_runs_both(self):
        command = self.save("norite", "#!/bin/sh\n"
                            'test "$*" = "bench --device cuda --json --filter norm" || exit 9\n'
                            f"cat {self.norite}\n")
        pathlib.Path(command).chmod(0o755)
        script = self.save("peers.py", "import os, shutil\nprint('progress')\n"
                           f"shutil.copy({self.peers!r}, os.environ['OUT'])\n")
        self.expect_compared(
            self.report("--norite", command, "--peers", script, "--filter", "norm"))
        printing = self.save("printing.py", f"print(open({self.peers!r}).read())\n")
        self.expect_compared(
            self.report("--norite", command, "--peers", printing, "--filter", "norm"))

    def test_table(self):
        done = self.run_script("--norite-json", self.norite, "--peers-json", self.peers)
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(line for line in done.stdout.splitlines() if line.startswith("norm"))
        self.assertEqual(line.split(), ["norm", "100.0", "0.95", "fast", "110.0", "0.82", "1.10"])

    def test_mistakes_are_told(self):
        broken = self.save("broken.json", "{")
        empty = self.save("empty.json", "{}")
        no_shape = self.save("no_shape.json", json.dumps({"roof_GBps": 1.0, "rows": [
            {"op": "rms_norm", "peer": "a", "dtype": "bf16", "shape": [], "us": 1.0}]}))
        failing = self.save("failing.py", "raise SystemExit(3)")
        for arguments in (["--norite-json", broken], ["--norite-json", empty],
                          ["--norite-json", self.norite, "--peers-json", empty],
                          ["--norite-json", self.norite, "--peers-json", no_shape],
                          ["--norite-json", "/nowhere"], ["--norite", "/nowhere"],
                          ["--norite-json", self.norite, "--peers", failing]):
            done = self.run_script(*arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertTrue(done.stderr.startswith("gpu_compare: "), done.stderr)
            self.assertEqual(done.stdout, "", arguments)


if __name__ == "__main__":
    unittest.main()
