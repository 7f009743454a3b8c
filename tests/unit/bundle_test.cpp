// Bundles of captured launches: written, read back, damaged, and redacted.
#include "tests/unit/bundle_fixture.hpp"

#include <set>

#include "serializer/zip_reader.hpp"
#include "serializer/zip_writer.hpp"

namespace aoti_dbg::cli::bundle_test {
namespace {

using namespace bundles;

std::string failure_of(const Status& status) {
    return status.ok() ? "" : status.message();
}

/// Each member of a bundle with its contents.
std::map<std::string, std::string> members_of(const std::string& bundle) {
    std::map<std::string, std::string> members;
    const Result<ZipReader> archive = ZipReader::open(std::as_bytes(std::span(bundle)));
    REQUIRE(archive.ok());
    const Result<std::vector<ZipMember>> found = archive.value().members();
    REQUIRE(found.ok());
    for (const ZipMember& member : found.value())
        members[std::string(member.name)] = text_of(member.record.content);
    return members;
}

/// A bundle from memory.
Result<std::shared_ptr<BundleFiles>> opened(const std::string& bundle) {
    // A copy of exactly its size, so that a sanitizer sees any read beyond it.
    auto bytes = std::make_shared<std::vector<char>>(bundle.begin(), bundle.end());
    return BundleFiles::read(std::as_bytes(std::span(*bytes)), bytes, "one.aotidbg");
}

TEST_CASE("A bundle has the same launches, code and tensors as its recording") {
    const Recorded recorded;
    const std::string folder = GENERATE("", ".");
    if (!folder.empty()) recorded.write_index(folder);
    REQUIRE(failure_of(recorded.bundle()).empty());
    const std::vector<LaunchFile> before = recorded.launches();
    Result<std::vector<LaunchFile>> after = launches_of(recorded.bundle_path());
    REQUIRE(after.ok());
    REQUIRE(after.value().size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        const LaunchFile& file = after.value()[i];
        CHECK(render_launch(file.launch) == render_launch(before[i].launch));
        CHECK(image_of(file).value() == image_of(before[i]).value());
        for (const LaunchTensor& tensor : file.launch.tensors)
            for (const EventSide side : {EventSide::before, EventSide::after}) {
                CAPTURE(i, tensor.label, static_cast<int>(side));
                CHECK(elements(file, tensor, side) == elements(before[i], tensor, side));
            }
        CHECK(elements(file, file.launch.tensors[0], EventSide::before).has_value());
    }
    // The program ended before the second launch wrote x.
    CHECK_FALSE(elements(after.value()[1], after.value()[1].launch.tensors[1], EventSide::after));
}

TEST_CASE("A bundle has each equal content once, and starts with its manifest") {
    const Recorded recorded;
    REQUIRE(failure_of(recorded.bundle()).empty());
    const std::string bundle = read_text(recorded.bundle_path());
    CHECK(bundle.find("manifest.json") == 30);
    std::set<std::string> names;
    for (const auto& [name, contents] : members_of(bundle))
        names.insert(name);
    CHECK(names == std::set<std::string>{"launches/00c0de.image", "launches/run0000-call0001.json",
                                         "launches/run0000-call0002.json", "manifest.json",
                                         "tensors/index.jsonl", "tensors/run0000/call0001/after_y.pt",
                                         "tensors/run0000/call0001/before_x.pt",
                                         "tensors/run0000/call0001/before_y.pt"});
    const std::string index = members_of(bundle).at("tensors/index.jsonl");
    CHECK(index.find("secret.py") == std::string::npos);
    CHECK(index.find("node7") == std::string::npos);
}

TEST_CASE("The manifest says what the bundle contains") {
    const Recorded recorded;
    REQUIRE(failure_of(recorded.bundle()).empty());
    const auto members = members_of(read_text(recorded.bundle_path()));
    const auto bytes = [&](const std::string& name) { return std::to_string(members.at(name).size()); };
    CHECK(members.at("manifest.json") ==
          R"({"format":"aoti-dbg bundle","version":1,"created_by":"1.2.3",)"
          R"("contains":"The code of 1 module, and the contents of 4 tensors before and 3 after 2 launches )"
          R"((4731 bytes), which are user data.","redacted":false,"device":"NVIDIA H100",)"
          R"("compute_capability":90,"driver":13000,
"launches":[
{"run":0,"call":1,"kernel":"kernel_1"},
{"run":0,"call":2,"kernel":"kernel_2"}],
"members":[
{"name":"launches/00c0de.image","bytes":20},
{"name":"launches/run0000-call0001.json","bytes":)" +
              bytes("launches/run0000-call0001.json") + R"(},
{"name":"tensors/run0000/call0001/before_x.pt","bytes":1577},
{"name":"tensors/run0000/call0001/before_y.pt","bytes":1577},
{"name":"tensors/run0000/call0001/after_y.pt","bytes":1577},
{"name":"launches/run0000-call0002.json","bytes":)" +
              bytes("launches/run0000-call0002.json") + R"(},
{"name":"tensors/index.jsonl","bytes":)" +
              bytes("tensors/index.jsonl") + "}]}\n");
}

TEST_CASE("A bundle is at most a tenth larger than what it needs") {
    const Recorded recorded(16384);
    REQUIRE(failure_of(recorded.bundle()).empty());
    CHECK(fs::file_size(recorded.bundle_path()) >= recorded.needed_bytes());
    CHECK(fs::file_size(recorded.bundle_path()) <= recorded.needed_bytes() * 11 / 10);
}

TEST_CASE("A bundle of a bundle is equal to it") {
    const Recorded recorded;
    REQUIRE(failure_of(recorded.bundle()).empty());
    const Result<std::vector<LaunchFile>> launches = launches_of(recorded.bundle_path());
    REQUIRE(launches.ok());
    const Result<BundleContents> contents = bundle_contents(launches.value(), false, "1.2.3");
    REQUIRE(contents.ok());
    const std::string again = recorded.bundle_path() + ".again";
    REQUIRE(write_bundle(again, contents.value(), *launches.value().front().files).ok());
    CHECK(read_text(again) == read_text(recorded.bundle_path()));
}

TEST_CASE("A damaged byte is refused or harmless, wherever it is") {
    const Recorded recorded;
    REQUIRE(failure_of(recorded.bundle()).empty());
    const std::string bundle = read_text(recorded.bundle_path());
    const std::map<std::string, std::string> members = members_of(bundle);
    std::size_t refused = 0;
    const auto check = [&](const std::string& damaged) {
        const Result<std::shared_ptr<BundleFiles>> files = opened(damaged);
        bool is_refused = !files.ok();
        for (const auto& [name, contents] : members) {
            if (!files.ok()) break;
            const Result<FileContents> found = files.value()->open(name);
            is_refused = is_refused || !found.ok();
            if (found.ok() && found.value().text() != contents) FAIL("other contents of " << name);
            if (!found.ok() && found.status().message().find("one.aotidbg: ") == std::string::npos)
                FAIL("no file in the message");
        }
        refused += is_refused ? 1 : 0;
    };
    for (std::size_t at = 0; at < bundle.size(); ++at)
        for (const int change : {0x01, 0x80, 0xff}) {
            INFO("byte " << at);
            std::string damaged = bundle;
            damaged[at] = static_cast<char>(damaged[at] ^ change);
            check(damaged);
        }
    CHECK(refused > bundle.size());  // of three times as many; headers have numbers that are there twice
    refused = 0;
    for (std::size_t bytes = 0; bytes < bundle.size(); ++bytes)
        check(bundle.substr(0, bytes));
    CHECK(refused == bundle.size());
}

TEST_CASE("A damaged tensor is named") {
    const Recorded recorded;
    REQUIRE(failure_of(recorded.bundle()).empty());
    std::string bundle = read_text(recorded.bundle_path());
    const std::string name = "tensors/run0000/call0001/before_y.pt";
    bundle[bundle.find(members_of(bundle).at(name)) + 900] ^= 1;
    const Result<std::shared_ptr<BundleFiles>> files = opened(bundle);
    REQUIRE(files.ok());
    CHECK(files.value()->open(name).status().message() ==
          "cannot read one.aotidbg: its member " + name + " is damaged. Copy or create the bundle again");
    CHECK(files.value()->open("tensors/run0000/call0001/before_x.pt").ok());
}

std::string with_manifest(const std::string& manifest) {
    ZipWriter archive("", 1);
    archive.add("manifest.json", manifest);
    archive.finish();
    const std::vector<std::byte> bytes = archive.take();
    return text_of(bytes);
}

TEST_CASE("A bundle of an older version is read, and one of a newer version is refused") {
    const auto failure = [](const std::string& manifest) {
        return failure_of([&] {
            const auto files = opened(with_manifest(manifest));
            return files.ok() ? Status() : files.status();
        }());
    };
    const std::string rest = R"("launches":[],"members":[],"unknown":{"a":[1]}})";
    CHECK(failure(R"({"format":"aoti-dbg bundle","version":0,)" + rest).empty());
    CHECK(failure(R"({"format":"aoti-dbg bundle","version":1,)" + rest).empty());
    CHECK(failure(R"({"format":"aoti-dbg bundle","version":2,)" + rest) ==
          "cannot read one.aotidbg: it is of a newer version of aoti-dbg. Update aoti-dbg");
    CHECK(failure(R"({"format":"aoti-dbg bundle",)" + rest).find("newer version") != std::string::npos);
    CHECK(failure(R"({"format":"something","version":1,)" + rest) ==
          "cannot read one.aotidbg: it is not an aoti-dbg bundle");
    CHECK(failure("[").find("not JSON") != std::string::npos);
    CHECK(failure(R"({"format":"aoti-dbg bundle","version":1,"launches":[]})").find("\"members\"") !=
          std::string::npos);
    CHECK(failure(
              R"({"format":"aoti-dbg bundle","version":1,"launches":[],"members":[{"name":"x","bytes":3}]})")
              .find("its member x is damaged") != std::string::npos);
    CHECK(
        failure_of(opened(with_manifest("{}").replace(30, 1, "n")).status()).find("not an aoti-dbg bundle") !=
        std::string::npos);
}

TEST_CASE("A manifest may have any bytes") {
    BundleManifest manifest;
    manifest.launches.push_back({3, 41, "triton_\"relu\"", "model.so", "2.11.0", "launches/1.py"});
    manifest.members.push_back({"launches/x.json", 17});
    const std::string text = render_manifest(manifest);
    const Result<BundleManifest> read = read_manifest(text);
    REQUIRE(read.ok());
    CHECK(render_manifest(read.value()) == text);
    std::size_t refused = 0;
    for (std::size_t at = 0; at < text.size(); ++at)
        for (int byte = 0; byte < 256; ++byte) {
            std::string damaged = text;
            damaged[at] = static_cast<char>(byte);
            const Result<BundleManifest> found = read_manifest(damaged);
            refused += found.ok() ? 0 : 1;
            if (!found.ok() && found.status().message().empty()) FAIL("no reason");
        }
    CHECK(refused > text.size());
}

TEST_CASE("A redacted bundle has no contents, no results and no hashes") {
    const Recorded recorded;
    REQUIRE(failure_of(recorded.bundle(true)).empty());
    const std::string bundle = read_text(recorded.bundle_path());
    const auto members = members_of(bundle);
    CHECK(members.at("manifest.json").find(R"("redacted":true)") != std::string::npos);
    CHECK(members.at("tensors/index.jsonl").find("hash") == std::string::npos);
    CHECK(bundle.find("5ec4e7") == std::string::npos);
    Result<std::vector<LaunchFile>> launches = launches_of(recorded.bundle_path());
    REQUIRE(launches.ok());
    const std::vector<LaunchFile> originals = recorded.launches();
    for (std::size_t i = 0; i < 2; ++i)
        for (const LaunchTensor& tensor : launches.value()[i].launch.tensors) {
            const auto found = elements(launches.value()[i], tensor, EventSide::before);
            REQUIRE(found.has_value());
            const auto original = elements(originals[i], tensor, EventSide::before);
            CHECK(found->size() == original->size());
            CHECK(*found != *original);
            CHECK_FALSE(elements(launches.value()[i], tensor, EventSide::after));
        }
    // x is the same tensor before both calls.
    CHECK(elements(launches.value()[0], launches.value()[0].launch.tensors[0], EventSide::before) ==
          elements(launches.value()[1], launches.value()[1].launch.tensors[1], EventSide::before));
    const std::string again = recorded.bundle_path();
    fs::remove(again);
    REQUIRE(failure_of(recorded.bundle(true)).empty());
    CHECK(read_text(again) == bundle);
}

TEST_CASE("What a replay needs must be there") {
    const Recorded recorded;
    const auto failure = [&] { return failure_of(recorded.bundle()); };
    SECTION("the code") {
        fs::remove(recorded.path() / "launches" / "00c0de.image");
        CHECK(failure().find("00c0de.image: no such file") != std::string::npos);
    }
    SECTION("the code as it was") {
        recorded.write("launches/00c0de.image", "other code");
        CHECK(failure().find(" is damaged") != std::string::npos);
    }
    SECTION("the inputs") {
        fs::remove(recorded.path() / "tensors" / "index.jsonl");
        CHECK(failure() ==
              "the contents of x before run 0, call 1, kernel_1 are not saved. Capture the launch again");
    }
    SECTION("the files of the inputs") {
        fs::remove(recorded.path() / "tensors/run0000/call0002/before_y.pt");
        CHECK(failure().find("call0002/before_y.pt: no such file") != std::string::npos);
    }
    SECTION("a place within the folder") {
        std::string index = read_text(recorded.path() / "tensors" / "index.jsonl");
        index.replace(index.find("run0000/call0001/before_x.pt"), 7, "../x000");
        recorded.write("x000/call0001/before_x.pt",
                       read_text(recorded.path() / "tensors/run0000/call0001/before_x.pt"));
        recorded.write("tensors/index.jsonl", index);
        CHECK(failure().find("names a file outside its folder") != std::string::npos);
    }
    CHECK_FALSE(fs::exists(recorded.bundle_path()));
    CHECK_FALSE(fs::exists(recorded.bundle_path() + ".part"));
}

TEST_CASE("No file is replaced") {
    const Recorded recorded;
    write_text(recorded.bundle_path(), "mine");
    CHECK(failure_of(recorded.bundle()) ==
          "cannot create " + recorded.bundle_path() + ": it exists. Name another file with --output");
    CHECK(read_text(recorded.bundle_path()) == "mine");
    fs::remove(recorded.bundle_path());
    write_text(recorded.bundle_path() + ".part", "of another");
    CHECK(failure_of(recorded.bundle()).find(".part: it exists. Remove it, if no other aoti-dbg") !=
          std::string::npos);
    CHECK(read_text(recorded.bundle_path() + ".part") == "of another");
    CHECK_FALSE(fs::exists(recorded.bundle_path()));
}

TEST_CASE("An archive may have more members than 16 bits can count") {
    ZipWriter archive("", 1);
    std::vector<std::string> names(70000);
    for (std::size_t i = 0; i < names.size(); ++i) {
        names[i] = std::to_string(i);
        archive.add(names[i], "");
    }
    archive.finish();
    const std::vector<std::byte> bytes = archive.take();
    const Result<ZipReader> reader = ZipReader::open(bytes);
    REQUIRE(reader.ok());
    CHECK(reader.value().members().value().size() == names.size());
    CHECK(reader.value().members().value().back().name == "69999");
}

}  // namespace
}  // namespace aoti_dbg::cli::bundle_test
