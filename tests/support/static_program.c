/* For cli_preloadable_test: linked statically; prints its arguments and ends with the exit code 7. */
#include <stdio.h>

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i)
        printf("<%s>", argv[i]);
    return 7;
}
