"""Arrays in chunks, cut anew: what `cornerturn.rechunk` is made of."""
