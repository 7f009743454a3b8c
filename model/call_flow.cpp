#include "model/call_flow.hpp"

#include "model/reading_limits.hpp"

namespace aoti_dbg {
namespace {

/// Deeper blocks are only counted. No real source nests that deep, and a stack of them would cost memory.
constexpr std::size_t kMostBlocks = 4096;

/// Matches while (1), while (true) and for (;;).
bool is_endless(const Statement& statement) {
    if (statement[0].is_word("while")) {
        return statement.size() == 4 && (statement[2].text == "1" || statement[2].is_word("true"));
    }
    return statement[0].is_word("for") && statement.size() == 5 && statement[2].is(';') &&
           statement[3].is(';');
}

}  // namespace

std::uint32_t CallFlow::region() const {
    return blocks_.empty() ? kNone : blocks_.back().region;
}

void CallFlow::add(FlowStep::Kind kind, std::uint32_t value) {
    body_.flow.push_back({kind, value});
}

std::uint32_t CallFlow::add_region(Region::Kind kind, std::uint32_t line) {
    if (body_.regions.size() >= kMaxSites) return region();
    body_.regions.push_back({kind, region(), line});
    return static_cast<std::uint32_t>(body_.regions.size() - 1);
}

/// Records the end of a branch or loop. If it contains no call, removes its steps instead.
void CallFlow::end(const Block& block, FlowStep::Kind kind) {
    for (std::size_t at = body_.flow.size(); at-- > block.step;) {
        const FlowStep::Kind step = body_.flow[at].kind;
        if (step == FlowStep::Kind::call || step == FlowStep::Kind::end_branch ||
            step == FlowStep::Kind::end_loop) {
            add(kind);
            return;
        }
    }
    body_.flow.resize(block.step);
}

void CallFlow::finish_branch() {
    if (may_go_on_) end(branch_, FlowStep::Kind::end_branch);
    may_go_on_ = false;
}

void CallFlow::open(const Statement& statement) {
    if (blocks_.size() >= kMostBlocks) {
        ++deeper_;
        return;
    }
    Block block;
    block.step = body_.flow.size();
    block.region = region();
    if (statement[0].is_word("else") && may_go_on_) {
        may_go_on_ = false;
        block = branch_;
        add(FlowStep::Kind::other, statement[1].is_word("if") ? 1 : 0);
        block.region = add_region(Region::Kind::other_branch, statement.line());
    } else {
        finish_branch();
        block.step = body_.flow.size();
        if (statement[0].is_word("if")) {
            block.kind = Block::Kind::branch;
            block.region = add_region(Region::Kind::branch, statement.line());
            add(FlowStep::Kind::branch);
        } else if (statement[0].is_word("while") || statement[0].is_word("for")) {
            block.kind = Block::Kind::loop;
            block.region = add_region(Region::Kind::loop, statement.line());
            add(FlowStep::Kind::loop, is_endless(statement) ? 1 : 0);
        }
    }
    blocks_.push_back(block);
}

void CallFlow::enter(const Statement& statement) {
    const bool goes_on = statement[0].is_word("else") && statement.end() == Statement::End::block_opens;
    if (!goes_on && (!statement.empty() || statement.end() != Statement::End::semicolon)) finish_branch();
    if (statement[0].is_word("if") && statement.end() != Statement::End::block_opens) {
        const std::size_t then = statement.closing(1) + 1;
        if (statement[then].is_word("break")) add(FlowStep::Kind::leave);
        if (statement[then].is_word("continue")) add(FlowStep::Kind::repeat);
    }
}

bool CallFlow::leave(const Statement& statement) {
    switch (statement.end()) {
        case Statement::End::semicolon:
            return true;
        case Statement::End::block_opens:
            open(statement);
            return true;
        case Statement::End::source_ends:
            while (!blocks_.empty()) {
                const Block block = blocks_.back();
                blocks_.pop_back();
                if (block.kind == Block::Kind::branch) end(block, FlowStep::Kind::end_branch);
                if (block.kind == Block::Kind::loop) end(block, FlowStep::Kind::end_loop);
            }
            finish_branch();
            return false;
        case Statement::End::block_closes:
            break;
    }
    if (deeper_ > 0) {
        --deeper_;
        return true;
    }
    if (blocks_.empty()) return false;
    const Block block = blocks_.back();
    blocks_.pop_back();
    if (block.kind == Block::Kind::loop) end(block, FlowStep::Kind::end_loop);
    if (block.kind == Block::Kind::branch) {
        branch_ = block;
        may_go_on_ = true;
    }
    return true;
}

}  // namespace aoti_dbg
