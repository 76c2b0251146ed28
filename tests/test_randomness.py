"""Randomness is a function of (seed, stream, number) and of nothing else."""

from __future__ import annotations

import numpy as np

from uflp.randomness import Randomness


def draws(seed: int, stream: str, number: int) -> list[int]:
    return list(Randomness(seed).at(stream, number).integers(0, 2**62, 4))


def test_equal_arguments_draw_equally_whatever_was_drawn_before() -> None:
    expected = draws(5, "act", 17)
    randomness = Randomness(5)
    for number in (0, 17, 3, 2**40):
        generator = randomness.at("act", number)
        # Uneven amounts of each kind, half a word included, which must not be carried along.
        generator.random(7)
        generator.integers(0, 2**31, 3, np.uint32)
        generator.normal()
    randomness.at("restart", 17).random()
    assert list(randomness.at("act", 17).integers(0, 2**62, 4)) == expected


def test_seeds_streams_and_numbers_draw_differently() -> None:
    seen = [
        tuple(draws(seed, stream, number))
        for seed in (0, 1, 2**32, 2**33)
        for stream in ("act", "restart", "replay")
        for number in (0, 1, 2, 2**33)
    ]
    assert len(set(seen)) == len(seen)
    # No draw of one number turns up among those of another either.
    assert len({value for values in seen for value in values}) == 4 * len(seen)


def test_neighbouring_numbers_do_not_overlap() -> None:
    randomness = Randomness(0)
    first = set(randomness.at("act", 0).integers(0, 2**62, 100_000))
    second = set(randomness.at("act", 1).integers(0, 2**62, 100_000))
    assert not first & second


def test_draws_of_successive_numbers_are_uniform() -> None:
    randomness = Randomness(3)
    values = np.array([randomness.at("restart", number).random() for number in range(20_000)])
    counts = np.bincount((10 * values).astype(int), minlength=10)
    # Chi-square with 9 degrees of freedom: its 1 - 1e-6 quantile is 45.
    assert np.sum((counts - 2000) ** 2 / 2000) < 45
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.04


def test_numbers_drawn_in_blocks_depend_on_nothing_else_either() -> None:
    expected = Randomness(5).uniforms("replay", 200, 3).tolist()
    randomness = Randomness(5)
    for number in (0, 63, 64, 200, 1):
        randomness.uniforms("replay", number, 3)
        randomness.uniforms("other", number, 3)
    randomness.uniforms("replay", 200, 4)
    assert randomness.uniforms("replay", 200, 3).tolist() == expected
    drawn = [tuple(randomness.uniforms("replay", number, 3)) for number in range(500)]
    assert len(set(drawn)) == 500
    values = np.array(drawn)
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 0.03


def test_integers_for_other_libraries_differ_by_seed_and_stream() -> None:
    values = [Randomness(seed).integer(stream) for seed in range(20) for stream in ("a", "b")]
    assert len(set(values)) == 40
    assert all(0 <= value < 2**32 for value in values)
    assert Randomness(4).integer("a") == values[8]


def test_the_first_actor_draws_as_a_run_alone_and_others_otherwise() -> None:
    drawn = [Randomness(4, actor).at("rollout", 7).random(2).tolist() for actor in range(3)]
    assert drawn[0] == Randomness(4).at("rollout", 7).random(2).tolist()
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]
