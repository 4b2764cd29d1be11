"""The example network: UCI handwritten digits, trained by :mod:`plusb.gen.digits.train`."""
