"""The statistical model, as pure mathematics: no files, no clock, no entropy.

A mixture of K components, each a product over the columns of one family per column, with priors as in the paper; and
a Gaussian over its unconstrained parameters. All of it is float64: callers wrap their work in
`jax.experimental.enable_x64()`, which is local to a thread, so that importing or calling vertwin never changes what
JAX does for anybody else.
"""
