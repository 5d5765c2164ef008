"""The composite action: its script runs as the runner would run it, and what is given to it is never run by a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.docs.pages import ROOT
from tests.logs.test_gate import hyperfine
from tests.support import warm

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INSTALL, GATE = ACTION["runs"]["steps"]


def run(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The gate's step, with the defaults of the action for what is not given."""
    given = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    assert set(given) == set(ACTION["inputs"])
    variables = {}
    for variable, template in GATE["env"].items():
        assert template.startswith("${{ inputs.")
        variables[variable] = given[template.removeprefix("${{ inputs.").removesuffix(" }}")]
    path = os.pathsep.join(map(str, (warm.folder_with_programs(), Path(sys.executable).parent, os.environ["PATH"])))
    told = {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_ACTIONS": "true", "PATH": path}
    # As the runner calls it: https://docs.github.com/actions/reference/workflow-syntax-for-github-actions
    call = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", GATE["run"]]
    return subprocess.run(
        call, cwd=folder, env=os.environ | variables | told, capture_output=True, text=True, check=False
    )


def logs(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for name, mean in (("main", 1.0), ("pr", 1.2)):
        hyperfine(folder / f"{name}.json", bench=rng.normal(mean, 0.01, 120).tolist())


def test_no_input_is_written_into_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    assert sorted(GATE["env"].values()) == sorted(f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"])
    assert "$GITHUB_ACTION_PATH" in INSTALL["run"]


def test_a_folder_of_the_change_is_not_run_instead_of_pip(tmp_path: Path) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text("raise SystemExit('not pip')", encoding="utf-8")
    command, installs, _ = INSTALL["run"].partition(" install ")
    assert installs
    ran = subprocess.run(
        ["bash", "-c", f"{command} --version"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "not pip" not in ran.stderr
    assert INSTALL["working-directory"] == "${{ github.action_path }}"


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"logs": "main.json\npr.json\n"}, 1),
        ({"logs": "pr.json\n\nmain.json"}, 0),
        ({"logs": "main.json\npr.json", "tolerance": "50%"}, 0),
        ({"logs": "main.json\npr.json", "arguments": "--quantile\n0.9\n--anytime", "junit": "out dir.xml"}, 1),
        ({"logs": "main.json"}, 2),
    ],
)
def test_logs(tmp_path: Path, inputs: dict[str, str], code: int) -> None:
    logs(tmp_path)
    ran = run(tmp_path, **inputs)
    assert ran.returncode == code, ran.stderr
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"
    assert not inputs.get("junit") or (tmp_path / inputs["junit"]).exists()


def test_commands_and_texts_that_a_shell_would_run(tmp_path: Path) -> None:
    program = f"{sys.executable} -c 'import time; time.sleep(0.002)'"
    ran = run(
        tmp_path,
        baseline=f"main $(touch hacked) `touch hacked`; touch hacked #={program}",
        candidates=f"pr'; touch hacked; '={program}\nslow=sleep 0.3\n",
        max_time="40 s",
        tolerance="100%",
    )
    assert not (tmp_path / "hacked").exists()
    assert ran.returncode in (1, 3), ran.stderr
    assert "main $(touch hacked)" in " ".join(ran.stdout.split()) or ran.returncode == 3
