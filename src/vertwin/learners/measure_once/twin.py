"""From noisy tables to the twin: public post-processing, done once by the first holder and sent to the others."""
