// A library for a program in another language that runs a model like model_host. The program's signal
// handlers are in place when a call crashes.
#include "tests/victims/model_user.hpp"

extern "C" int host_runs(const char* model_path, int runs) {
    const victim::Torch torch(RTLD_GLOBAL);
    const victim::Model model(torch, model_path);
    for (int i = 0; i < runs; ++i)
        victim::print("hosted run", model.run());
    return 0;
}
