def kill_case(rng,note): pass
