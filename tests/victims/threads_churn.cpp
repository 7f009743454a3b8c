// threads_churn T MODEL: starts T threads one after another, then T more, 16 at a time. Each runs the model
// once and ends.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/victims/model_user.hpp"

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const int threads = std::atoi(argv[1]);
    const victim::Torch torch;
    const victim::Model model(torch, argv[2]);
    const double expected = model.run().sum;
    std::atomic<int> same{0};
    const auto one_run = [&] { same.fetch_add(model.run().sum == expected ? 1 : 0); };
    for (int i = 0; i < threads; ++i)
        std::thread(one_run).join();
    for (int left = threads; left > 0; left -= 16) {
        std::vector<std::thread> together;
        for (int i = 0; i < std::min(left, 16); ++i)
            together.emplace_back(one_run);
        for (std::thread& thread : together)
            thread.join();
    }
    std::printf("same results %d of %d\n", same.load(), 2 * threads);
    return 0;
}
