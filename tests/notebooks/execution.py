"""Runs a notebook in a process of its own, in an empty folder."""

import base64
import io
import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
KEPT = ("text/html", "text/plain", "image/png")  # of what a cell shows


def executed(path):
    """A notebook with the outputs that it has now, without the times and versions of this run.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    found = nbformat.read(path, as_version=4)
    places = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            found,
            timeout=1200,
            startup_timeout=1200,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
        )
        client.execute(env={**os.environ, "PYTHONPATH": places, "IPYTHONDIR": folder})
    found.metadata = {name: found.metadata[name] for name in ("kernelspec",)}
    for cell in found.cells:
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if not _tells_of_compiling(output)]
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = {kind: output.data[kind] for kind in KEPT if kind in output.data}
                if "image/png" in output.data:
                    output.data["image/png"] = _smaller(output.data["image/png"])
    return found


def _tells_of_compiling(output):
    """Whether an output is the line of a first run on a machine."""
    return output.output_type == "stream" and output.name == "stderr" and output.text.startswith("compiling ")


def _smaller(picture):
    """A picture with 32 colours, which a plot needs at most."""
    from PIL import Image

    out = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(32).save(out, "png", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def texts(notebook):
    """What every cell shows, as text; pictures, whose bytes and sizes depend on fonts, by their kind alone.

    What a cell prints comes in as many parts as its process sent.
    """
    return [_shown(cell.get("outputs", ())) for cell in notebook.cells]


def _shown(outputs):
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    results = [output.data for output in outputs if "data" in output]
    return [printed, *(["a picture"] if "image/png" in data else sorted(data.items()) for data in results)]
