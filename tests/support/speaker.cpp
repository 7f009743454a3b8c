// Used by message_test: starts with standard error closed, opens argv[1], which gets descriptor 2, and prints
// a message.
#include <fcntl.h>
#include <unistd.h>

#include "base/message.hpp"

int main(int, char** argv) {
    const int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    aoti_dbg::message(aoti_dbg::Severity::warn, "this must not land in the program's file");
    if (aoti_dbg::was_open_at_start(2)) return 3;
    return file == STDERR_FILENO ? 0 : 4;
}
