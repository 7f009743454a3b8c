// Tracks the branches and loops of a body while it is read, and records those that contain calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

class CallFlow {
  public:
    explicit CallFlow(RunBody& body) : body_(body) {}

    /// Call this for each statement before its calls are recorded.
    void enter(const Statement& statement);
    /// Call this after them. Returns false once the body is closed.
    bool leave(const Statement& statement);
    void call(std::uint32_t site) { add(FlowStep::Kind::call, site); }
    /// The branch or loop of the next calls.
    [[nodiscard]] std::uint32_t region() const;

  private:
    struct Block {
        enum class Kind : std::uint8_t { plain, branch, loop };
        Kind kind = Kind::plain;
        std::size_t step = 0;          // where the branch or loop starts in the flow
        std::uint32_t region = kNone;  // of its contents
    };
    void add(FlowStep::Kind kind, std::uint32_t value = 0);
    void open(const Statement& statement);
    void finish_branch();
    std::uint32_t add_region(Region::Kind kind, std::uint32_t line);
    void end(const Block& block, FlowStep::Kind kind);

    RunBody& body_;
    std::vector<Block> blocks_;
    std::size_t deeper_ = 0;
    Block branch_;            // closed, but an else may follow
    bool may_go_on_ = false;  // an else may follow
};

}  // namespace aoti_dbg
