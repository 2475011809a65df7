def file_case(rng,note): pass
