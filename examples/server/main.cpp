// A small inference server: loads an AOTInductor package and answers requests, one per line. It represents
// production programs, prints only answers and must not use aoti-dbg.
//   aoti_server PACKAGE.pt2 COLUMNS [--port N] [--once]
// A request is a line of numbers, COLUMNS per row. The answer is `ok` and all outputs, separated by `|`, or
// `error` and the reason. Requests come from standard input, or with --port from connections to 127.0.0.1,
// one thread each. Standard error names the port that 0 picks. --once exits after one request or connection.
#include <ATen/ops/empty.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Arguments {
    std::string package;
    std::int64_t columns = 0;
    int port = -1;  // -1 means standard input
    bool once = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
    if (argc < 3) return false;
    arguments.package = argv[1];
    arguments.columns = std::atoll(argv[2]);
    for (int i = 3; i < argc; ++i) {
        if (std::strcmp(argv[i], "--once") == 0) {
            arguments.once = true;
        } else if (std::strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
            arguments.port = std::atoi(argv[++i]);
        } else {
            return false;
        }
    }
    return arguments.columns > 0;
}

class Model {
  public:
    /// The model can answer `runners` requests at the same time.
    Model(const std::string& package, std::int64_t columns, std::size_t runners)
        : loader_(package, "model", false, runners), columns_(columns) {
        const auto metadata = loader_.get_metadata();
        const auto device = metadata.find("AOTI_DEVICE_KEY");
        if (device != metadata.end()) device_ = c10::Device(device->second);
    }

    /// Returns the answer to one request, without a line end. Never throws.
    std::string answer(const std::string& request) {
        try {
            const std::vector<float> numbers = read_numbers(request);
            if (numbers.empty() || numbers.size() % static_cast<std::size_t>(columns_) != 0)
                return "error: a request is a line of numbers, " + std::to_string(columns_) + " to a row";
            const auto rows = static_cast<std::int64_t>(numbers.size()) / columns_;
            at::Tensor input = at::empty({rows, columns_}, at::kFloat);
            std::memcpy(input.data_ptr<float>(), numbers.data(), numbers.size() * sizeof(float));
            return write_numbers(loader_.run({input.to(device_)}));
        } catch (const std::exception& error) {
            std::string reason = error.what();
            return "error: " + reason.substr(0, reason.find('\n'));
        }
    }

  private:
    static std::vector<float> read_numbers(const std::string& line) {
        std::vector<float> numbers;
        const char* at = line.c_str();
        for (char* end = nullptr;; at = end) {
            const float number = std::strtof(at, &end);
            if (end == at) break;
            numbers.push_back(number);
        }
        return line.find_first_not_of(" \t\r", static_cast<std::size_t>(at - line.c_str())) ==
                       std::string::npos
                   ? numbers
                   : std::vector<float>();
    }

    static std::string write_numbers(const std::vector<at::Tensor>& outputs) {
        std::ostringstream text;
        text.precision(9);  // enough digits to distinguish any two floats
        text << "ok";
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (i != 0) text << " |";
            const at::Tensor output = outputs[i].cpu().to(at::kFloat).contiguous();
            for (std::int64_t j = 0; j < output.numel(); ++j)
                text << ' ' << output.const_data_ptr<float>()[j];
        }
        return text.str();
    }

    torch::inductor::AOTIModelPackageLoader loader_;
    std::int64_t columns_;
    c10::Device device_ = c10::kCPU;
};

void serve_standard_input(Model& model, bool once) {
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << model.answer(line) << std::endl;
        if (once) break;
    }
}

void serve_connection(Model& model, int connection) {
    std::string pending;
    char chunk[4096];
    for (ssize_t got = 0; (got = recv(connection, chunk, sizeof chunk, 0)) > 0;) {
        pending.append(chunk, static_cast<std::size_t>(got));
        for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos;) {
            const std::string answer = model.answer(pending.substr(0, end)) + '\n';
            pending.erase(0, end + 1);
            if (send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
        }
    }
    close(connection);
}

bool serve_port(Model& model, int port, bool once) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener, 16) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        std::perror("aoti_server");
        return false;
    }
    std::fprintf(stderr, "listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    std::vector<std::thread> workers;
    while (true) {
        const int connection = accept(listener, nullptr, nullptr);
        if (connection < 0) break;
        workers.emplace_back([&model, connection] { serve_connection(model, connection); });
        if (once) break;
    }
    for (std::thread& worker : workers)
        worker.join();
    close(listener);
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    if (!parse(argc, argv, arguments)) {
        std::fprintf(stderr, "usage: aoti_server PACKAGE.pt2 COLUMNS [--port N] [--once]\n");
        return 2;
    }
    try {
        Model model(arguments.package, arguments.columns, arguments.port < 0 ? 1 : 4);
        if (arguments.port < 0) {
            serve_standard_input(model, arguments.once);
            return 0;
        }
        return serve_port(model, arguments.port, arguments.once) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "aoti_server: %s\n", error.what());
        return 1;
    }
}
