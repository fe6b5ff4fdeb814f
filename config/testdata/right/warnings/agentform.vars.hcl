unused = 1
