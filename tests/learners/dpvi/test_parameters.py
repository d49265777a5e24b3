"""The broadcast: the same integers everywhere, and what they say is the model's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners.dpvi.steps import layouts_of
from model.small_models import mixed

from vertwin.errors import UserError
from vertwin.learners.dpvi.parameters import Codec, digest, public_scales


@pytest.mark.parametrize("bits", [40, 18])
def test_decoded_numbers_are_the_models_on_the_grid(bits: int) -> None:
    packing, rng = mixed(3), np.random.default_rng(1)
    layouts = layouts_of(packing, missing=False)
    theta = rng.normal(size=packing.shape)
    codec = Codec(packing, layouts, bits)
    found = codec.decode(codec.encode(theta))
    step = 2.0 ** -min(20, bits)
    np.testing.assert_allclose(found.theta, theta, atol=step)
    np.testing.assert_allclose(found.weights, jax.nn.softmax(jnp.asarray(found.theta)[:, 0]), atol=step)
    for one, jacobian, mean in zip(layouts, found.jacobians, found.means, strict=True):
        assert jacobian is not None
        assert mean is not None
        assert jacobian.shape == one.jacobian_shape(3)
        start = 0
        for block, family in zip(one.blocks, one.exponential, strict=True):
            exact = family.bounded_linear_map(block.of(jnp.asarray(found.theta)))
            stop = start + family.statistics
            np.testing.assert_allclose(mean[:, start:stop], exact.mean, atol=step)
            assert (np.abs(jacobian[:, start:stop]) <= np.abs(np.asarray(exact.jacobian))).all()
            np.testing.assert_allclose(jacobian[:, start:stop], exact.jacobian, atol=step)
            start = stop


def test_encoding_what_was_decoded_changes_nothing() -> None:
    packing = mixed(3)
    codec = Codec(packing, layouts_of(packing, missing=False), 40)
    payload = codec.encode(np.random.default_rng(2).normal(size=packing.shape))
    assert codec.encode(codec.decode(payload).theta) == payload


def test_a_parameter_that_is_not_finite_is_a_coded_error() -> None:
    packing = mixed(3)
    theta = np.zeros(packing.shape)
    theta[0, 0] = np.nan
    with pytest.raises(UserError) as caught:
        Codec(packing, layouts_of(packing, missing=False), 40).encode(theta)
    assert caught.value.codes == ("E757",)


def test_digests_tell_steps_and_payloads_apart() -> None:
    assert len({digest(1, b"a"), digest(2, b"a"), digest(1, b"b")}) == 3


def test_public_scales_are_one_where_nothing_is_scaled() -> None:
    packing = mixed(3)
    assert np.array_equal(public_scales(packing, jnp.zeros(packing.shape)), np.ones(packing.shape))
    steep = jnp.zeros(packing.shape).at[:, 6:8].set(jnp.asarray([2000.0, -20.0]))  # a Beta with a huge shape
    scales = public_scales(packing, steep)
    assert float(scales[0, 6]) == float(scales[0, 7]) <= 1.0
