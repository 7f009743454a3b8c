// manifest.json, the first member of a bundle: which launches a bundle has, and what it contains.
// docs/reference/bundles.md documents and versions it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg {

struct BundledLaunch {
    std::uint32_t run = 0;
    std::uint32_t call = 0;
    std::string kernel;
    std::string model;   // the name of its file; empty if unknown
    std::string torch;   // the version of PyTorch; empty if unknown
    std::string source;  // the member with the kernel's Triton source; empty if there is none
};

struct BundleMember {
    std::string name;
    std::uint64_t bytes = 0;
};

struct BundleManifest {
    std::string created_by;  // the version of aoti-dbg
    // These describe the first kernel. Each launch has its own.
    std::string device;
    std::uint32_t compute_capability = 0;  // 90 is 9.0
    std::int32_t driver = 0;               // 13000 is 13.0
    bool is_redacted = false;
    std::string contains;  // a sentence
    std::vector<BundledLaunch> launches;
    std::vector<BundleMember> members;  // all but the manifest
};

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kBundleFormat = "aoti-dbg bundle";
inline constexpr std::uint32_t kBundleVersion = 1;

std::string render_manifest(const BundleManifest& manifest);

/// Accepts any bytes.
Result<BundleManifest> read_manifest(std::string_view text);

}  // namespace aoti_dbg
