/* The work that is measured: six small jobs that optimisers treat differently. Each returns a checksum that does not
   depend on how it was compiled, so that a build which computes something else is found out. */

#include "kernels.h"

#include <string.h>

/* Arrays begin at cache lines in every build: where they happen to lie is no merit of the flags. */
#define ALIGNED _Alignas(64)

/* numbers that are the same everywhere */

static uint64_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static uint64_t mixed(uint64_t sum, uint64_t value)
{
    sum ^= value + 0x9e3779b97f4a7c15u + (sum << 6) + (sum >> 2);
    return sum;
}

/* stencil: regular loops over whole numbers, for the vectoriser */

#define SIDE 128
#define SWEEPS 8

static ALIGNED int32_t plate[2][SIDE][SIDE];

static void sweep(int32_t (*restrict to)[SIDE], int32_t (*restrict from)[SIDE])
{
    for (int i = 1; i < SIDE - 1; i++)
        for (int j = 1; j < SIDE - 1; j++)
            to[i][j] = (4 * from[i][j] + from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) >> 3;
}

static uint64_t stencil(void)
{
    uint64_t state = 1, sum = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            plate[0][i][j] = plate[1][i][j] = (int32_t)(next_number(&state) & 0xfffff);
    for (int step = 0; step < SWEEPS; step++)
        sweep(plate[(step + 1) & 1], plate[step & 1]);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            sum += (uint64_t)plate[0][i][j] * (uint64_t)(i + j + 1);
    return sum;
}

/* matrix product: loops over doubles, fused operations */

#define ORDER 48

static ALIGNED double left[ORDER][ORDER];
static ALIGNED double right[ORDER][ORDER];
static ALIGNED double product[ORDER][ORDER];

static uint64_t matrix_product(void)
{
    uint64_t state = 2, sum = 0;
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++) {
            /* Small whole numbers: sums of their products are exact in any order. */
            left[i][j] = (double)(next_number(&state) & 63);
            right[i][j] = (double)(next_number(&state) & 63);
            product[i][j] = 0.0;
        }
    for (int i = 0; i < ORDER; i++)
        for (int k = 0; k < ORDER; k++)
            for (int j = 0; j < ORDER; j++)
                product[i][j] += left[i][k] * right[k][j];
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++)
            sum = mixed(sum, (uint64_t)product[i][j]);
    return sum;
}

/* hash table: small helpers to be inlined, multiplications, probes */

#define SLOTS 4096
#define KEYS 3000

static ALIGNED uint64_t slot_key[SLOTS];
static ALIGNED uint32_t slot_count[SLOTS];

static uint64_t scrambled(uint64_t key)
{
    key ^= key >> 31;
    key *= 0x7fb5d329728ea185u;
    key ^= key >> 27;
    key *= 0x81dadef4bc2dd44du;
    return key ^ (key >> 33);
}

static unsigned slot_of(uint64_t key)
{
    unsigned slot = (unsigned)scrambled(key) & (SLOTS - 1);
    while (slot_key[slot] != 0 && slot_key[slot] != key)
        slot = (slot + 1) & (SLOTS - 1);
    return slot;
}

static void count_key(uint64_t key)
{
    unsigned slot = slot_of(key);
    slot_key[slot] = key;
    slot_count[slot]++;
}

static uint32_t counted(uint64_t key)
{
    return slot_count[slot_of(key)];
}

static uint64_t hash_table(void)
{
    uint64_t state = 3, sum = 0;
    memset(slot_key, 0, sizeof slot_key);
    memset(slot_count, 0, sizeof slot_count);
    for (int n = 0; n < 4 * KEYS; n++)
        count_key(1 + next_number(&state) % KEYS);
    for (uint64_t key = 1; key <= KEYS; key++)
        sum = mixed(sum, counted(key));
    return sum;
}

/* a text for the next two */

#define LENGTH 16384

static ALIGNED char text[LENGTH + 1];

static void write_text(uint64_t seed)
{
    static const char letters[] = "eeeettaaooiinnsshhrrdlucmfwyp     .,;=+-*/()0123456789\"\n";
    uint64_t state = seed;
    for (int n = 0; n < LENGTH; n++)
        text[n] = letters[next_number(&state) % (sizeof letters - 1)];
    text[LENGTH] = 0;
}

/* string scan: bytes, tables, short loops */

static int is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static int occurrences(const char *pattern)
{
    int found = 0;
    for (const char *at = text; *at; at++) {
        const char *a = at, *b = pattern;
        while (*b && *a == *b)
            a++, b++;
        found += *b == 0;
    }
    return found;
}

static uint64_t string_scan(void)
{
    uint64_t sum = 0;
    unsigned histogram[128] = {0}, words = 0, lines = 0, sums = 0;
    write_text(4);
    for (int n = 0; n < LENGTH; n++)
        histogram[(unsigned char)text[n] & 127]++;
    for (int n = 0; n < LENGTH; n++)
        lines += text[n] == '\n';
    for (int n = 0; n < LENGTH; n++)
        sums += (unsigned)text[n] * 3u + 1u;
    for (int n = 0; n < LENGTH; n++)
        words += is_letter(text[n]) && !is_letter(text[n + 1]);
    for (int n = 0; n < 128; n++)
        sum = mixed(sum, histogram[n]);
    sum = mixed(mixed(mixed(sum, words), lines), sums);
    return mixed(mixed(sum, (uint64_t)occurrences("the")), (uint64_t)occurrences("a="));
}

/* state machine: a tokenizer, a switch in a loop that is hard to predict */

enum kind { SPACE, NAME, NUMBER, QUOTED, OPERATOR, KINDS };

static enum kind begun_by(char c)
{
    switch (c) {
    case ' ': case '\n': return SPACE;
    case '"': return QUOTED;
    case '+': case '-': case '*': case '/': case '=': case '(': case ')': case '.': case ',': case ';': return OPERATOR;
    default: return is_letter(c) ? NAME : NUMBER;
    }
}

static uint64_t state_machine(void)
{
    uint64_t sum = 0, value = 0;
    unsigned tokens[KINDS] = {0};
    enum kind state = SPACE;
    int depth = 0;
    write_text(5);
    for (int n = 0; n < LENGTH; n++) {
        char c = text[n];
        switch (state) {
        case QUOTED:
            if (c == '"')
                state = SPACE, sum = mixed(sum, value);
            else
                value = value * 31 + (unsigned char)c;
            continue;
        case NAME:
            if (is_letter(c) || (c >= '0' && c <= '9')) {
                value = value * 33 + (unsigned char)c;
                continue;
            }
            sum = mixed(sum, value);
            break;
        case NUMBER:
            if (c >= '0' && c <= '9') {
                value = value * 10 + (uint64_t)(c - '0');
                continue;
            }
            sum += value;
            break;
        default:
            break;
        }
        state = begun_by(c);
        tokens[state]++;
        value = (unsigned char)c;
        if (c == '(')
            depth++;
        else if (c == ')' && depth > 0)
            depth--;
        sum += (uint64_t)depth;
    }
    for (int k = 0; k < KINDS; k++)
        sum = mixed(sum, tokens[k]);
    return sum;
}

/* sorting: a heap, sifted by short dependent steps */

#define ITEMS 3000

struct item {
    uint32_t weight;
    uint32_t label;
};

static ALIGNED struct item heap[ITEMS];

static int lighter(const struct item *a, const struct item *b)
{
    return a->weight != b->weight ? a->weight < b->weight : a->label < b->label;
}

static void swap_items(struct item *a, struct item *b)
{
    struct item kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_down(unsigned at, unsigned size)
{
    for (;;) {
        unsigned child = 2 * at + 1;
        if (child >= size)
            return;
        if (child + 1 < size && lighter(&heap[child], &heap[child + 1]))
            child++;
        if (!lighter(&heap[at], &heap[child]))
            return;
        swap_items(&heap[at], &heap[child]);
        at = child;
    }
}

static uint64_t sorting(void)
{
    uint64_t state = 6, sum = 0;
    for (unsigned n = 0; n < ITEMS; n++)
        heap[n] = (struct item){(uint32_t)(next_number(&state) & 1023), n};
    for (unsigned n = ITEMS / 2; n-- > 0;)
        sift_down(n, ITEMS);
    for (unsigned n = ITEMS; n-- > 1;) {
        swap_items(&heap[0], &heap[n]);
        sift_down(0, n);
    }
    for (unsigned n = 0; n < ITEMS; n++)
        sum = mixed(sum, ((uint64_t)heap[n].weight << 32) | heap[n].label);
    return sum;
}

const struct kernel KERNELS[KERNEL_COUNT] = {
    {"stencil", stencil, 0x00000100df8c7676u},
    {"matrix product", matrix_product, 0x4aac782bced4edacu},
    {"hash table", hash_table, 0x8d6cae8041d54557u},
    {"string scan", string_scan, 0x8e27c9332bd202dbu},
    {"state machine", state_machine, 0x5c0474bd2159bd8cu},
    {"sorting", sorting, 0xc527cae9d5988677u},
};
