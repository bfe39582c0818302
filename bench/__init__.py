"""Benchmarks: speed, retrieval quality and micro-benchmarks; see README.md."""

import os

# onnxruntime reports its use over the network from the moment it is loaded, here too.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
