"""Tools of all packages. They may know errors and phrases, and no other package.

- `typing`: kinds of arrays; `checks`: numbers and arrays
- `written`: what users write: shares, probabilities, times, names of arguments
- `compiled`: kernels; `machine`: cores; `dask`: clusters and their workers
- `secrets`: passwords and values that nobody may see; `private`: files of mode 0600
- `attached`: conveniences that lower packages offer and the package's front attaches, such as `result.plot()`
"""
