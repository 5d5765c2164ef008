/* kernels.c is compiled twice: as `measured` with the flags of an arm, and as `reference` with the same flags for all
   (build.sh says -DKERNELS=...). */

#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>

#define KERNEL_COUNT 6

struct kernel {
    const char *name;
    uint64_t (*run)(void);
    uint64_t checksum; /* what run() has to return */
};

extern const struct kernel measured[KERNEL_COUNT];
extern const struct kernel reference[KERNEL_COUNT];

#endif
