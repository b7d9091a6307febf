"""The example of flooding: four forms that agree, with their gradients."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def flood():
    path = Path(__file__).parents[2] / "examples" / "python" / "flood.py"
    spec = importlib.util.spec_from_file_location("flood", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 100, 1000])
def test_all_forms_agree(flood, size):
    random = np.random.default_rng(size)
    values = random.integers(1, 9, size) * (random.random(size) < 0.3)
    values[0] = 5
    weights = torch.from_numpy(random.random(size))
    place, expected = 0, []
    for i, value in enumerate(values):
        place = i if value else place
        expected.append(place)
    gradient = np.zeros(size)
    np.add.at(gradient, expected, weights.numpy())
    for name, form in flood.FORMS.items():
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        y = form(x)
        assert y.tolist() == values[expected].tolist(), name
        (y * weights).sum().backward()
        assert np.allclose(x.grad, gradient), name


def test_holes_before_the_first_value(flood):
    for name, form in flood.FORMS.items():
        assert form(torch.tensor([0.0, 0.0, 3.0, 0.0, 3.0], dtype=torch.float64)).tolist() == [0, 0, 3, 3, 3], name
