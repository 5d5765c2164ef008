"""Tools of all packages. They may know errors and phrases, and no other package.

- `typing`: kinds of arrays; `checks`: arguments, and what users write: shares, probabilities, times
- `compiled`: kernels; `machine`: cores, memory, forks; `dask`: clusters and their workers
- `secrets`: passwords and values that nobody may see, files of mode 0600
- `attached`: conveniences that lower packages offer and the package's front attaches, such as `result.plot()`
"""
