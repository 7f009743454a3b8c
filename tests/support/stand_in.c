/* A library for the tests of the command that only counts itself in the tally. It repeats the tally's layout,
 * so that the test compares the two. Variables name the program that each role applies to: STAND_IN_MODEL
 * loads a model, STAND_IN_LAUNCH makes an intercepted call, STAND_IN_ASIDE does not take part, and
 * STAND_IN_IDLE has PyTorch and ends without a record. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOADED = 24, PARTAKING = 28, MODELS = 32, RECORDING = 36, IDLE = 84, BYTES = 4096 };

static int is_named(const char* variable) {
    const char* const name = getenv(variable);
    return name != NULL && strcmp(name, program_invocation_short_name) == 0;
}

static void raise_count(char* page, int place) {
    __atomic_fetch_add((uint32_t*)(void*)(page + place), 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void count(void) {
    const char* const path = getenv("AOTI_DBG_TALLY");
    const int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    char* const page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) return;
    if (memcmp(page, "AOTITLY1", 8) == 0) {
        raise_count(page, LOADED);
        if (!is_named("STAND_IN_ASIDE")) raise_count(page, PARTAKING);
        if (is_named("STAND_IN_MODEL")) raise_count(page, MODELS);
        if (is_named("STAND_IN_LAUNCH")) raise_count(page, RECORDING);
        if (is_named("STAND_IN_IDLE")) raise_count(page, IDLE);
    }
    munmap(page, BYTES);
}
