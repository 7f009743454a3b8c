// See gpu_dump.hpp. Tables are read from the devices downwards, so each entry finds its owner. Entries
// without an owner are dropped. All tables together must not exceed the file size, because overlapping
// sections could make a small file expand without limit.
#include "gpu_dump/gpu_dump.hpp"

#include <utility>

#include "gpu_dump/gpu_dump_format.hpp"

namespace aoti_dbg::gpu {
namespace {

using elf::Bytes;

// The first few notes suffice to describe the damage.
constexpr std::size_t kMostNotes = 8;

/// One entry of a table.
class Entry {
  public:
    explicit Entry(Bytes bytes) : bytes_(bytes) {}

    template <typename T>
    [[nodiscard]] std::optional<T> there(std::uint64_t offset) const {
        return copy_at<T>(bytes_, offset);
    }
    [[nodiscard]] std::uint64_t word(std::uint64_t offset) const {
        return there<std::uint64_t>(offset).value_or(0);
    }
    [[nodiscard]] std::uint32_t half(std::uint64_t offset) const {
        return there<std::uint32_t>(offset).value_or(0);
    }
    [[nodiscard]] std::optional<Dim3> dim3(std::uint64_t offset) const { return there<Dim3>(offset); }

  private:
    Bytes bytes_;
};

class Reader {
  public:
    explicit Reader(const elf::File& file, std::size_t file_bytes)
        : file_(file), room_(file_bytes), entries_(file.sections()) {}

    GpuDump read() {
        strings_ = file_.section(file_.find(".strtab")).content;
        sort_sections();
        for (const std::size_t table : of(Table::meta))
            read_meta(table);
        read_all(Table::devices, device::kLeast, dump_.devices, &Reader::read_device);
        read_all(Table::contexts, context::kLeast, dump_.contexts, &Reader::read_context);
        read_all(Table::modules, module::kLeast, dump_.modules, &Reader::read_module);
        read_all(Table::grids, grid::kLeast, dump_.grids, &Reader::read_grid);
        read_all(Table::sms, sm::kLeast, dump_.sms, &Reader::read_sm);
        read_all(Table::blocks, block::kLeast, dump_.blocks, &Reader::read_block);
        read_all(Table::warps, warp::kLeast, dump_.warps, &Reader::read_warp);
        read_all(Table::lanes, lane::kLeast, dump_.lanes, &Reader::read_lane);
        for (const std::size_t section : of(Table::module_image))
            attach(section, Table::modules, dump_.modules, &Module::image);
        for (const std::size_t section : of(Table::parameters))
            attach(section, Table::grids, dump_.grids, &Grid::parameters);
        for (const std::size_t section : of(Table::uniform_registers))
            attach(section, Table::warps, dump_.warps, &Warp::uniform_registers);
        for (const std::size_t section : of(Table::registers))
            attach(section, Table::lanes, dump_.lanes, &Lane::registers);
        for (const std::size_t section : of(Table::predicates))
            attach(section, Table::lanes, dump_.lanes, &Lane::predicates);
        if (left_out_ > dump_.notes.size())
            dump_.notes.push_back("and " + std::to_string(left_out_ - dump_.notes.size()) + " more");
        return std::move(dump_);
    }

  private:
    /// The entries of one table, as a range in the list of their kind.
    struct Range {
        std::uint32_t type = 0;
        Index first = kNone;
        Index count = 0;
    };

    static constexpr std::uint32_t kFirstType = static_cast<std::uint32_t>(Table::registers);
    static constexpr std::uint32_t kTypes = static_cast<std::uint32_t>(Table::meta) - kFirstType + 1;

    /// Sorts once, because a dump may have a million sections: one for each thread's registers.
    void sort_sections() {
        for (std::size_t i = 1; i < file_.sections(); ++i) {
            const std::uint32_t type = file_.section(i).type;
            if (type >= kFirstType && type - kFirstType < kTypes) sections_[type - kFirstType].push_back(i);
        }
    }
    [[nodiscard]] const std::vector<std::size_t>& of(Table table) const {
        return sections_[static_cast<std::uint32_t>(table) - kFirstType];
    }

    void note(const elf::Section& section, std::string_view what) {
        ++left_out_;
        if (dump_.notes.size() >= kMostNotes) return;
        std::string text(file_.section_name(section).substr(0, 80));
        if (text.empty()) text = "a section without a name";
        dump_.notes.push_back(text.append(": ").append(what));
    }

    /// True if the bytes may be used as a table. All tables share one budget.
    bool take(const elf::Section& section) {
        if (!section.is_whole) note(section, "is truncated");
        if (section.content.size() > room_) {
            note(section, "overlaps other tables and is ignored");
            return false;
        }
        room_ -= section.content.size();
        return true;
    }

    /// Returns the entry that a section belongs to, or kNone if there is none.
    [[nodiscard]] Index owner_of(const elf::Section& section, Table kind) const {
        if (section.link >= entries_.size()) return kNone;
        const Range& range = entries_[section.link];
        if (range.type != static_cast<std::uint32_t>(kind) || section.info >= range.count) return kNone;
        return range.first + section.info;
    }
    static std::optional<Table> owner_kind(Table kind) {
        switch (kind) {
            case Table::contexts:
            case Table::grids:
            case Table::sms:
                return Table::devices;
            case Table::modules:
                return Table::contexts;
            case Table::blocks:
                return Table::sms;
            case Table::warps:
                return Table::blocks;
            case Table::lanes:
                return Table::warps;
            default:
                return std::nullopt;
        }
    }

    template <typename T>
    void read_all(Table kind, std::uint64_t least, std::vector<T>& list,
                  T (Reader::*read_entry)(const Entry&, Index owner)) {
        for (const std::size_t number : of(kind)) {
            const elf::Section section = file_.section(number);
            Index owner = kNone;
            if (const std::optional<Table> above = owner_kind(kind)) {
                owner = owner_of(section, *above);
                if (owner == kNone) {
                    note(section, "belongs to an entry that is missing, and is ignored");
                    continue;
                }
            }
            if (section.entry_bytes < least) {
                if (section.bytes != 0) note(section, "has entries that are too short, and is ignored");
                continue;
            }
            if (!take(section)) continue;
            const std::uint64_t count = section.content.size() / section.entry_bytes;
            if (count > kNone - list.size()) continue;
            Range& range = entries_[number];
            range = {section.type, static_cast<Index>(list.size()), static_cast<Index>(count)};
            if constexpr (std::is_same_v<T, Lane>) {
                if (!give_lanes(section, owner, range)) continue;
            }
            for (std::uint64_t i = 0; i < count; ++i) {
                const Bytes bytes = section.content.subspan(i * section.entry_bytes, section.entry_bytes);
                list.push_back((this->*read_entry)(Entry(bytes), owner));
            }
        }
    }

    bool give_lanes(const elf::Section& section, Index owner, const Range& range) {
        Warp& warp = dump_.warps[owner];
        if (warp.lanes != 0) {
            note(section, "is a second table of the same warp, and is ignored");
            return false;
        }
        warp.first_lane = range.first;
        warp.lanes = range.count;
        return true;
    }

    template <typename T>
    void attach(std::size_t number, Table kind, std::vector<T>& list, Bytes T::*member) {
        const elf::Section section = file_.section(number);
        const Index owner = owner_of(section, kind);
        if (owner == kNone) {
            note(section, "belongs to an entry that is missing, and is ignored");
        } else if (take(section)) {
            list[owner].*member = section.content;
        }
    }

    [[nodiscard]] std::string_view text(std::optional<std::uint64_t> offset) const {
        if (!offset) return {};
        return elf::File::string_at(strings_, *offset).value_or(std::string_view());
    }

    void read_meta(std::size_t number) {
        const elf::Section section = file_.section(number);
        if (section.content.size() < meta::kLeast || !take(section)) return;
        const Entry entry(section.content);
        dump_.meta = Meta{{entry.half(meta::kDriver), entry.half(meta::kDriver + 4)},
                          {entry.half(meta::kCuda), entry.half(meta::kCuda + 4)},
                          entry.half(meta::kTime)};
    }

    Device read_device(const Entry& entry, Index) {
        return {entry.half(device::kId), text(entry.word(device::kName)),
                text(entry.word(device::kArchitecture))};
    }
    Context read_context(const Entry& entry, Index owner) {
        return {owner, entry.word(context::kId), entry.there<std::uint32_t>(context::kHostThread)};
    }
    Module read_module(const Entry& entry, Index owner) { return {owner, entry.word(module::kHandle), {}}; }
    Grid read_grid(const Entry& entry, Index owner) {
        Grid grid;
        grid.device = owner;
        grid.id = entry.word(grid::kId);
        grid.context = entry.word(grid::kContext);
        grid.function = entry.word(grid::kFunction);
        grid.entry = entry.word(grid::kEntry);
        grid.module = entry.there<std::uint64_t>(grid::kModule);
        grid.parent = entry.there<std::uint64_t>(grid::kParent);
        grid.blocks = entry.dim3(grid::kGridDim);
        grid.threads = entry.dim3(grid::kBlockDim);
        return grid;
    }
    Sm read_sm(const Entry& entry, Index owner) {
        Sm sm;
        sm.device = owner;
        sm.id = entry.half(sm::kId);
        sm.exception = entry.there<std::uint32_t>(sm::kException);
        if (entry.half(sm::kErrorPcValid) != 0) sm.error_pc = entry.there<std::uint64_t>(sm::kErrorPc);
        sm.exception_text = text(entry.there<std::uint64_t>(sm::kExceptionText));
        return sm;
    }
    Block read_block(const Entry& entry, Index owner) {
        return {owner, entry.word(block::kGrid), entry.dim3(block::kIndex).value_or(Dim3{})};
    }
    Warp read_warp(const Entry& entry, Index owner) {
        Warp warp;
        warp.block = owner;
        warp.id = entry.half(warp::kId);
        warp.valid_lanes = entry.half(warp::kValidLanes);
        warp.active_lanes = entry.half(warp::kActiveLanes);
        warp.is_broken = entry.half(warp::kIsBroken) != 0;
        if (entry.half(warp::kErrorPcValid) != 0) warp.error_pc = entry.word(warp::kErrorPc);
        return warp;
    }
    Lane read_lane(const Entry& entry, Index owner) {
        return {owner,
                entry.half(lane::kId),
                entry.word(lane::kPc),
                entry.dim3(lane::kThread).value_or(Dim3{}),
                entry.there<std::uint32_t>(lane::kException),
                {},
                {}};
    }

    const elf::File& file_;
    std::size_t room_;
    std::vector<Range> entries_;  // by section
    std::array<std::vector<std::size_t>, kTypes> sections_;
    Bytes strings_;
    GpuDump dump_;
    std::size_t left_out_ = 0;
};

}  // namespace

Result<GpuDump> read_gpu_dump(Bytes bytes) {
    const Result<elf::File> opened = elf::File::open(bytes);
    if (!opened.ok()) return opened.status();
    const elf::File& file = opened.value();
    if (file.type() != ET_CORE) {
        return Status::error(file.machine() == EM_CUDA ? "is a cubin, not a GPU core dump"
                                                       : "is a program or a library, not a GPU core dump");
    }
    if (file.machine() != EM_CUDA)
        return Status::error("is a core dump of a program, not of a GPU. Open it with gdb");
    if (file.sections() == 0)
        return Status::error("is a GPU core dump without sections: it was not written completely");
    return Reader(file, bytes.size()).read();
}

}  // namespace aoti_dbg::gpu
