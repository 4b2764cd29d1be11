"""One random configuration on the simulated unit: every product against the golden model, under every kind of stall."""

import numpy as np
from plusb.gen.reference import reference
from plusb.gen.unit import engine_unit, epilogue_unit
from plusb.sim.burst import open_unit
from plusb.sim.expected import lower_for, split_into_tiles, statistics_words
from plusb.sim.random_cases import random_config, random_product

#: Chances, of 256, that a source is idle and that the sink stalls.
STALLS = ((0, 0), (90, 0), (0, 150), (80, 80))


def case(seed):
    """Configuration, products and generator of a seed, of which nothing else is needed to repeat a run."""
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    products = []
    for _ in range(6):
        m, n = rng.integers(1, 14, 2).tolist()
        k = int(rng.choice([1, 2, rng.integers(1, 41), 64]))
        products.append(random_product(rng, config, m, k, n))
    return config, products, rng


def check_seed(seed, *, both=False):
    """Run a seed on an engine or on an epilogue alone, or on both.

    Returns
    -------
    int
        Outputs compared.

    Raises
    ------
    AssertionError
        Which names the seed, the product and the stalls, if an output is wrong.
    """
    config, products, rng = case(seed)
    makes = (engine_unit, epilogue_unit)
    compared = 0
    for make in makes if both else makes[seed % 2 :][:1]:
        with open_unit(config, make=make, optimize=False) as unit:
            for index, product in enumerate(products):
                for stalls in STALLS:
                    if rng.random() < 0.5:  # else the product meets what the one before it left behind
                        unit.reset(int(rng.integers(1 << 30)))
                    where = f"seed {seed}, {make.__name__}, product {index}, stalls {stalls}"
                    compared += check_product(unit, config, product, stalls, where, engine=make is engine_unit)
    return compared


def check_product(unit, config, product, stalls, where, *, engine):
    """Data, TKEEP, TLAST and statistics of a product; returns the number of outputs."""
    stages = reference(config, product.gemm, product.x, product.terms)
    program = lower_for(config, product, engine=engine)
    result = unit.run(program, idle=stalls[0], stall=stalls[1])
    wrong = np.argwhere(program.collect(result.data) != stages.out)
    assert not len(wrong), f"{where}: {len(wrong)} of {stages.out.size} are wrong, first {wrong[0]}; {config}"
    tiles = [tile.out.shape for tile in split_into_tiles(config, stages)]
    size = config.element_type.width // 8
    keep = [cols * size for rows, cols in tiles for _ in range(rows)]
    kept = np.unpackbits(result.keep, axis=1, bitorder="little")
    assert kept.sum(1).tolist() == keep, f"{where}: TKEEP is wrong"
    assert all(row[:count].all() for row, count in zip(kept, keep, strict=True)), f"{where}: TKEEP has gaps"
    last = [row == rows - 1 for rows, _ in tiles for row in range(rows)]
    assert result.last.astype(bool).tolist() == last, f"{where}: TLAST is wrong"
    if config.epilogue.statistics:
        assert np.array_equal(result.statistics, statistics_words(config, stages)), f"{where}: statistics are wrong"
    return stages.out.size
