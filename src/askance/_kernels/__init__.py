"""Hot loops: arrays in, arrays out, no classes. Each has a plain twin that gives the same bits."""
