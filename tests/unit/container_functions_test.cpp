// The table of a model's own functions, and how its release is read from what it exports. This program plays
// the model, so it exports two of them.
#include "shim/calls/container_functions.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <iterator>

#include "shim/runtime/loaded_object.hpp"
#include "tests/support/catch.hpp"

extern "C" {
__attribute__((visibility("default"))) std::int32_t AOTInductorModelContainerRunSingleThreaded() {
    return 0;
}
__attribute__((visibility("default"))) std::int32_t AOTInductorGetLastError() {
    return 0;
}
}

namespace aoti_dbg {
namespace {

const ContainerFunction& function(const char* name) {
    const ContainerFunction* const found = find_container_function(name);
    INFO(name);
    REQUIRE(found != nullptr);
    return *found;
}

TEST_CASE("The functions of every release are known by what they do") {
    CHECK(function("AOTInductorModelContainerRun").meaning == ContainerMeaning::run);
    CHECK(function("AOTInductorModelContainerRun").stack_words == 1);
    CHECK(function("AOTInductorModelContainerCreateWithExternalConstants").meaning ==
          ContainerMeaning::lifecycle);
    CHECK(function("AOTInductorModelContainerCreateWithExternalConstants").stack_words == 0);
    CHECK(function("AOTInductorModelContainerUpdateConstantBufferFromCpuPairs").since == 213);
    CHECK(function("AOTInductorGetLastError").meaning == ContainerMeaning::last_error);
    CHECK(function("AOTInductorModelContainerGetNumInputs").meaning == ContainerMeaning::other);
    CHECK(function("AOTInductorModelRun").meaning == ContainerMeaning::other);
    CHECK(find_container_function("AOTInductorModelContainerRu") == nullptr);
    CHECK(find_container_function("AOTInductorModelContainerRun2") == nullptr);
    CHECK(is_container_name("AOTInductorModelContainerRun2"));
    CHECK_FALSE(is_container_name("AOTI"));
}

TEST_CASE("A model's release is that of its newest function") {
    const std::optional<LoadedObject> own =
        object_at(reinterpret_cast<const void*>(&AOTInductorGetLastError));
    REQUIRE(own);
    CHECK(defines(*own, "AOTInductorGetLastError"));
    CHECK_FALSE(defines(*own, "AOTInductorGetLastErro"));
    CHECK(release_of_model(*own) == 213);
}

TEST_CASE("What an object imports or lacks, it does not define") {
    const std::optional<LoadedObject> libc = object_at(dlsym(RTLD_DEFAULT, "strtol"));
    REQUIRE(libc);
    CHECK(defines(*libc, "strtol"));
    CHECK_FALSE(defines(*libc, "aoti_torch_get_data_ptr"));
    const std::optional<LoadedObject> own =
        object_at(reinterpret_cast<const void*>(&AOTInductorGetLastError));
    REQUIRE(own);
    CHECK_FALSE(defines(*own, "dlsym"));
    CHECK(release_of_model(*libc) == 0);
}

}  // namespace
}  // namespace aoti_dbg
