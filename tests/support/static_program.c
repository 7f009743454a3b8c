/* Used by cli_preloadable_test: statically linked, prints its arguments and exits with code 7. */
#include <stdio.h>

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i)
        printf("<%s>", argv[i]);
    return 7;
}
