// Loaded by a program in another language: runs a model as model_host does, so that whatever handlers that
// program has set are there when it dies in a call.
#include "tests/victims/model_user.hpp"

extern "C" int host_runs(const char* model_path, int runs) {
    const victim::Torch torch(RTLD_GLOBAL);
    const victim::Model model(torch, model_path);
    for (int i = 0; i < runs; ++i)
        victim::print("hosted run", model.run());
    return 0;
}
