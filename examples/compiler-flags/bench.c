/* One pull: run the measured build and the reference build of the same kernels in turns, check their results, and print

       {"time": 0.7421, "bytes": 4893, "seconds": 0.00871, "reference_seconds": 0.01174}

   `time` is seconds / reference_seconds: 1 is as fast as the reference (plain -O2). The two take turns every tenth of a
   millisecond, so that a slow minute of the machine slows both and cancels out of the quotient.
   `bytes` is the code and data of the measured build, counted by build.sh. */

#include "kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 14

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds that the kernel takes, or -1 if its result is wrong. */
static double seconds_of(const struct kernel *kernel, const char *build)
{
    double start = now();
    uint64_t sum = kernel->run();
    double seconds = now() - start;
    if (sum == kernel->checksum)
        return seconds;
    fprintf(stderr, "%s build, %s: wanted the checksum %016" PRIx64 ", got %016" PRIx64 "\n", build, kernel->name,
            kernel->checksum, sum);
    return -1.0;
}

int main(void)
{
    double seconds = 0.0, reference_seconds = 0.0;
    for (int round = 0; round <= ROUNDS; round++)
        for (int k = 0; k < KERNEL_COUNT; k++) {
            double ours, theirs;
            if (round % 2) { /* neither is always the first, which finds the caches cold */
                ours = seconds_of(&measured[k], "measured");
                theirs = seconds_of(&reference[k], "reference");
            } else {
                theirs = seconds_of(&reference[k], "reference");
                ours = seconds_of(&measured[k], "measured");
            }
            if (ours < 0.0 || theirs < 0.0)
                return 1;
            if (round > 0) { /* the first round fetches pages */
                seconds += ours;
                reference_seconds += theirs;
            }
        }
    printf("{\"time\": %.5f, \"bytes\": %d, \"seconds\": %.7f, \"reference_seconds\": %.7f}\n",
           seconds / reference_seconds, BYTES, seconds, reference_seconds);
    return 0;
}
