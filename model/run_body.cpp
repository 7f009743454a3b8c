#include "model/run_body.hpp"

#include <algorithm>
#include <utility>

#include "model/body_memory.hpp"
#include "model/call_flow.hpp"
#include "model/call_reader.hpp"
#include "model/expression.hpp"

namespace aoti_dbg {
namespace {

class BodyReader {
  public:
    BodyReader(const Callees& callees, const WrapperInfo& wrapper, Keeper& keeper, RunBody& body)
        : keeper_(keeper),
          body_(body),
          variables_(keeper),
          flow_(body),
          memory_(keeper, body, variables_, flow_),
          calls_(callees, wrapper, keeper, body, variables_, flow_, memory_) {}

    void read(StatementReader& reader) {
        Statement statement;
        const std::uint64_t before = reader.steps();
        do {
            reader.next(statement);
            flow_.enter(statement);
            see(statement);
        } while (flow_.leave(statement));
        keeper_.steps += reader.steps() - before;
    }

  private:
    void see(const Statement& statement) {
        for (const std::string_view comment : statement.comments()) {
            calls_.read_comment(comment);
        }
        if (statement.empty() || statement.end() == Statement::End::block_opens) return;
        TokenRange range = statement.all();
        if (statement[0].is_word("if")) range.first = std::min(statement.closing(1) + 1, range.last);
        const std::size_t assigned = statement.find('=', range);
        if (assigned < range.last) {
            see_assignment(statement, {range.first, assigned}, {assigned + 1, range.last});
        } else if (!see_declaration(statement, range) && !see_method(statement, range)) {
            calls_.read(statement, range);
        }
    }

    /// Returns the declared name in `auto buf4`, `static constexpr int64_t int_array_0[]` or `buf3`.
    static std::string_view declared(const Statement& statement, TokenRange left) {
        while (!left.empty() && (statement[left.last - 1].is(']') || statement[left.last - 1].is('['))) {
            --left.last;
        }
        const Token& name = statement[left.last - 1];
        return !left.empty() && name.kind == Token::Kind::word ? name.text : std::string_view();
    }

    void see_assignment(const Statement& statement, TokenRange left, TokenRange right) {
        if (statement[left.first].is_word("output_handles")) {
            see_output(statement, left, right);
            return;
        }
        const std::string_view name = declared(statement, left);
        if (name.empty() || right.empty()) return;
        const Token& first = statement[right.first];
        const bool is_moved = first.is_word("std") && statement[right.first + 3].is_word("move");
        const std::size_t inner = right.first + (is_moved ? 5 : 0);
        if (statement[inner].is_word("inputs") || first.is_word("constants_")) {
            variables_.declare_tensor(name);
            if (!first.is_word("constants_")) memory_.set_input(handle_index(statement, inner), name);
            return;
        }
        if (is_handle(statement[left.first])) {
            // 2.6 passes the address of a handle: `AtenTensorHandle var_2 = head_bias.get();`.
            std::optional<TensorName> same = variables_.tensor(statement, right);
            if (same && Variables::is_temporary(name) && memory_.is_known(same->name))
                variables_.declare_alias(name, *std::move(same));
            else
                variables_.declare_tensor(name);
            return;
        }
        std::optional<TensorName> tensor;
        if (!statement[left.last - 1].is(']')) tensor = variables_.tensor(statement, right);
        if (!tensor || !memory_.is_known(tensor->name)) {
            see_value(name, statement, right);
        } else if (memory_.name_piece(tensor->name, name)) {
            return;
        } else if (Variables::is_temporary(name)) {
            variables_.declare_alias(name, *std::move(tensor));
        } else {
            memory_.share(name, *tensor, is_moved ? SharedMemory::How::moved : SharedMemory::How::shared);
        }
    }

    void see_value(std::string_view name, const Statement& statement, TokenRange right) {
        std::string_view text = statement.text(right);
        if (text == "nullptr") text = "{}";  // an empty array: *int_array_0=nullptr
        variables_.declare_value(name, text);
        if (keeper_.allows(body_.symbols.size(), kMaxNames))
            body_.symbols[keeper_.keep(name)] = keeper_.keep(text);
    }

    static bool is_handle(const Token& token) {
        return token.is_word("AtenTensorHandle") || token.is_word("ConstantHandle");
    }

    /// Reads `AtenTensorHandle buf0_handle;`, `RAIIAtenTensorHandle buf0(buf0_handle);` or `bool
    /// buf1_scalar;`.
    bool see_declaration(const Statement& statement, TokenRange range) {
        const bool owns = statement[range.first].is_word("RAIIAtenTensorHandle");
        if (!owns && !is_handle(statement[range.first])) return false;
        const Token& name = statement[range.first + 1];
        if (name.kind != Token::Kind::word) return false;
        if (!owns) {
            variables_.declare_tensor(Variables::without_handle(name.text));
            return true;
        }
        const std::size_t open = range.first + 2;
        const std::string_view handle = statement[open + 1].text;
        if (!memory_.name_piece(handle, name.text) && statement[open].is('(') &&
            Variables::without_handle(handle) != name.text) {
            std::optional<TensorName> tensor =
                variables_.tensor(statement, {open + 1, statement.closing(open)});
            // 2.6 names a view of a weight twice: tmp_tensor_handle_0_raii(tmp_tensor_handle_0).
            if (tensor && Variables::is_temporary(name.text) && !Variables::is_temporary(tensor->name)) {
                variables_.declare_alias(name.text, *std::move(tensor));
                return true;
            }
            if (tensor) memory_.share(name.text, *tensor, SharedMemory::How::shared);
        }
        variables_.declare_tensor(name.text);
        return true;
    }

    void see_output(const Statement& statement, TokenRange left, TokenRange right) {
        const std::size_t at = handle_index(statement, left.first);
        if (statement[right.first].is_word("output_handles")) {  // the same tensor twice
            const std::size_t other = handle_index(statement, right.first);
            if (other < body_.outputs.size()) memory_.set_output(at, TensorName(body_.outputs[other]));
        } else {
            memory_.set_output(at, variables_.tensor(statement, right).value_or(TensorName{}));
        }
    }

    /// Reads `buf0.reset();`.
    bool see_method(const Statement& statement, TokenRange range) {
        if (range.size() != 5 || !statement[range.first + 1].is('.')) return false;
        if (!statement[range.first + 2].is_word("reset")) return false;
        memory_.free(statement[range.first].text);
        return true;
    }

    Keeper& keeper_;
    RunBody& body_;
    Variables variables_;
    CallFlow flow_;
    BodyMemory memory_;
    CallReader calls_;
};

}  // namespace

void read_run_body(StatementReader& reader, const Callees& callees, const WrapperInfo& wrapper,
                   Keeper& keeper, RunBody& body) {
    BodyReader(callees, wrapper, keeper, body).read(reader);
}

}  // namespace aoti_dbg
