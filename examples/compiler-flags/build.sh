#!/bin/sh
# build.sh FOLDER FLAGS: build FOLDER/bench, the kernels compiled with FLAGS (one text, split at spaces).
set -eu
folder=$1
flags=$2
here=$(dirname "$0")

# $flags is not quoted: it is several flags.
gcc -std=gnu11 -Wall -Wextra $flags -DKERNELS=measured -c -o "$folder/measured.o" "$here/kernels.c"
gcc -std=gnu11 -Wall -Wextra -O2 -DKERNELS=reference -c -o "$folder/reference.o" "$here/kernels.c"
# text and data; the last column but two of `size` is bss, which takes no room in a file
bytes=$(size "$folder/measured.o" | awk 'NR == 2 { print $1 + $2 }')
gcc -std=gnu11 -Wall -Wextra -O2 -DBYTES="$bytes" -o "$folder/bench" "$here/bench.c" "$folder/measured.o" "$folder/reference.o"
