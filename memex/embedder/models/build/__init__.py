"""Makes a model directory from a public fp32 file. A development tool: it needs `onnx`, the service does not."""

from memex.embedder.models.build.building import Amend, Progress, Report, build
from memex.embedder.models.build.recipe import RECIPES, Recipe

__all__ = ["RECIPES", "Amend", "Progress", "Recipe", "Report", "build"]
