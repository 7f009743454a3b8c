"""The checks of scripts/docs see what they are there for. Needs no torch, no MkDocs and nothing that is built."""

from __future__ import annotations

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts" / "lib"))
import docs_check
import docs_code
import docs_messages
import docs_pages
import message_list

PAGE = """# Title of `this` page

One sentence. Two words
continue here.

- An item. See [a page](other.md#part).

| a cell | two. cells |
|---|---|

<!-- run: numbers differ, exit 1 -->
```console
$ command that nobody counts as prose
output
```
"""


def long(count: int) -> str:
    return " ".join(["word"] * count) + "."


class Pages(unittest.TestCase):
    def test_a_fence_has_its_language_its_mark_and_its_lines(self):
        (fence,) = docs_pages.fences(PAGE)
        self.assertEqual((fence.language, fence.mark, fence.details), ("console", "run", "numbers differ, exit 1"))
        self.assertEqual(fence.body, ["$ command that nobody counts as prose", "output"])
        self.assertEqual(fence.line, 12)

    def test_a_command_without_a_mark_is_a_problem(self):
        for text in (
            "```console\n$ ls\n```\n",
            "text\n\n```sh\nls\n```\n",
            "```\n$ ls\n```\n",
            "```text\n$ ls\n```\n",
            "<!-- not run -->\n```sh\nls\n```\n",
            "<!-- run -->\n\n```console\n$ ls\n```\n",
            "```mermaid\nflowchart LR\n```\n",
            "Words:\n\n    $ ls\n",
            "Words:\n\n    aoti-dbg run -- true\n",
        ):
            self.assertEqual(len(docs_pages.fence_problems(text)), 1, text)

    def test_a_marked_command_and_plain_output_are_no_problem(self):
        for text in (
            PAGE,
            "<!-- gpu -->\n```console\n$ ls\n```\n",
            "<!-- not run: needs Docker -->\n```sh\nls\n```\n",
            "```text\noutput\n```\n",
        ):
            self.assertEqual(docs_pages.fence_problems(text), [], text)

    def test_a_quote_has_the_lines_of_its_file_in_their_order(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / "a.hpp").write_text("int a;\n    int b;\nint c;\n")
            for quote, problems in {
                "int a;\n    int b;": 0,
                "int a;\n...\nint c;": 0,
                "    ...\nint c;": 0,
                "int a;\nint c;": 1,
                "int c;\n...\nint a;": 1,
            }.items():
                text = f"<!-- from: a.hpp -->\n```cpp\n{quote}\n```\n"
                self.assertEqual(len(docs_pages.wrong_quotes(folder, text)), problems, quote)
            self.assertEqual(len(docs_pages.wrong_quotes(folder, "<!-- from: b.hpp -->\n```cpp\nint a;\n```\n")), 1)

    def test_comments_are_not_counted_as_words_and_all_else_is(self):
        self.assertEqual(docs_pages.words("<!-- run: x -->\n# One two\n\n```sh\nthree four\n```\n"), 7)

    def test_a_sentence_ends_with_its_block_and_not_with_its_line(self):
        blocks = [docs_pages.plain(block.text) for block in docs_pages.blocks(PAGE)]
        self.assertEqual(blocks[1:5], ["One sentence. Two words continue here.", "An item. See a page.", "a cell", "two. cells"])
        self.assertEqual(docs_pages.sentences(blocks[1]), ["One sentence.", "Two words continue here."])

    def test_a_sentence_may_begin_with_a_lower_case_name(self):
        self.assertEqual(len(docs_pages.sentences("It runs. aoti-dbg reports it. Arguments are arg0, arg1, ... here.")), 3)

    def test_a_link_to_no_file_or_no_heading_is_dead(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / "other.md").write_text("# Other\n\n## The `part` that is there\n")
            page = folder / "page.md"
            for target, dead in {
                "other.md": 0,
                "other.md#the-part-that-is-there": 0,
                "https://example.org/x": 0,
                "missing.md": 1,
                "other.md#part": 1,
                "#nothing": 1,
            }.items():
                text = f"See [it]({target}).\n"
                page.write_text(text)
                self.assertEqual(len(docs_pages.dead_links(page, text)), dead, target)


class Messages(unittest.TestCase):
    def test_literals_that_follow_one_another_are_one_message(self):
        source = 'say("one half "\n    "and the other");\nsay("second text");'
        self.assertEqual([message.text for message in docs_messages.messages(source)], ["one half and the other", "second text"])
        self.assertEqual([message.line for message in docs_messages.messages(source)], [1, 3])

    def test_comments_includes_and_single_words_are_not_messages(self):
        source = '// "of which one"\n/* "two words" */\n#include "base/two words.hpp"\nf("word", \'"\', "a real message");'
        self.assertEqual([message.text for message in docs_messages.messages(source)], ["a real message"])

    def test_escapes_and_raw_literals_are_read(self):
        source = r'f("say \"no more\"\n"); g(R"x(raw "text" here)x");'
        self.assertEqual([message.text for message in docs_messages.messages(source)], ['say "no more"\n', 'raw "text" here'])


class MessageList(unittest.TestCase):
    def listed(self, source: str) -> list[tuple[str, str]]:
        return [(text.template, text.printer) for text in message_list.texts(source)]

    def test_a_value_between_literals_is_an_ellipsis(self):
        self.assertEqual(self.listed('return "cannot read " + path + ": no " + kind;'), [("cannot read …: no …", "")])
        self.assertEqual(self.listed('text.append("there are ").append(count).append(" of them here");'),
                         [("…there are … of them here", "")])  # fmt: skip

    def test_conversions_are_values_and_a_printed_line_has_its_kind(self):
        source = 'message(Severity::warn, "%s lost: %" PRIu64 " of 100%% are gone.", name, lost);'
        self.assertEqual(self.listed(source), [("… lost: … of 100% are gone.", "warn")])
        source = 'if (!ok) { error_message(ErrorCode::no_match, "no call of %s", name); return 1; }'
        self.assertEqual(self.listed(source), [("no call of …", "no_match")])

    def test_both_sides_of_a_choice_are_shown(self):
        source = 'f(one ? "the first of them" : many ? "the last of them" : "none of them");'
        self.assertEqual(self.listed(source), [("[the first of them|the last of them|none of them]", "")])
        self.assertEqual(self.listed('line = "it has " + (one ? "one entry" : "entries") + " left";'),
                         [("it has [one entry|entries] left", "")])  # fmt: skip

    def test_arguments_are_texts_of_their_own(self):
        source = 'return {"library", state, "it was not found", advice("put it beside the program")};'
        self.assertEqual([text for text, _ in self.listed(source)], ["it was not found", "put it beside the program"])

    def test_comments_keys_and_paths_are_not_listed(self):
        source = '// "not a message at all"\n#define X "nor is this one"\nf("/proc/self/maps", "one_key", "two words");'
        self.assertEqual(self.listed(source), [])


class Counting(unittest.TestCase):
    def test_a_sentence_of_thirty_words_is_not_long_and_one_more_word_makes_it_so(self):
        self.assertEqual(docs_check.long_sentences(long(30) + " " + long(30)), [])
        self.assertEqual(len(docs_check.long_sentences(long(30) + " " + long(31))), 1)

    def test_old_words_are_found_as_words(self):
        for text in ("what it told you", "Nobody knows", "it is looked at", "a bad end", "a standing stream"):
            self.assertEqual(len(docs_check.old_words(text)), 1, text)
        for text in ("standard error", "a satellite", "`%p` stands for the process", "intelligent"):
            self.assertEqual(docs_check.old_words(text), [], text)

    def test_the_length_of_a_page_is_limited_by_its_place(self):
        self.assertEqual(docs_check.length_limit("README.md"), 1800)
        self.assertEqual(docs_check.length_limit("docs/tasks/find-hang.md"), 900)
        self.assertEqual(docs_check.length_limit("docs/internals/architecture.md"), 3000)
        self.assertIsNone(docs_check.length_limit("docs/internals/benchmarks.md"))
        self.assertIsNone(docs_check.length_limit("cli/README.md"))


class Code(unittest.TestCase):
    def places(self, files: dict[str, str]) -> list[str]:
        """Return what is found in files with these names and texts."""
        with tempfile.TemporaryDirectory() as place:
            paths = {}
            for name, text in files.items():
                paths[name] = pathlib.Path(place) / name
                paths[name].parent.mkdir(parents=True, exist_ok=True)
                paths[name].write_text(text)
            found = docs_code.old_places(paths, docs_check.old_words)
        return [one.split(" (use")[0] for places in found.values() for one in places]

    def test_old_words_in_names_are_found_however_they_are_joined(self):
        for name in ("told", "told_", "g_told", "is_told_by_ring", "ToldSource", "kWantedSets", "nobody_waits", "LookedAt",
                     "let_oldest_go", "made_by", "note_made", "note_context_gone", "still_stands", "ended_well",
                     "AOTI_DBG_CONTEXT_GOES"):  # fmt: skip
            self.assertIsNotNone(docs_code.old_name(name), name)

    def test_names_of_normal_english_are_not_found(self):
        for name in ("made", "make_ready", "remade", "left_out", "bytes_left", "AOTI_DBG_STAND_IN", "standard", "outstanding",
                     "end_run", "go_on", "ftell", "tellp", "unwanted", "look_up", "version_made_by", "arrived"):  # fmt: skip
            self.assertIsNone(docs_code.old_name(name), name)

    def test_names_comments_and_titles_of_cpp_are_read_and_other_literals_are_not(self):
        source = 'int told = 1;\nint told_twice;  // whoever\n/* `nobody` a bad end */\n"nobody waits";\nTEST_CASE("a told\\n"\n "tale") {}\n'
        self.assertEqual(
            sorted(self.places({"shim/a.cpp": source})),
            ["shim/a.cpp:1: told", "shim/a.cpp:2: \"whoever\"", "shim/a.cpp:2: told_twice", "shim/a.cpp:3: \"bad end\"",
             "shim/a.cpp:5: \"told\""],
        )  # fmt: skip

    def test_python_and_scripts_are_read(self):
        source = '"""What nobody reads."""\n# wanted\ndef f(told):\n    return "told"\n'
        self.assertEqual(
            self.places({"a.py": source}), ['a.py:3: told', 'a.py:2: "wanted"', 'a.py:1: "nobody"']
        )
        self.assertEqual(self.places({"a.cmake": "set(told 1)\n# wanted\n"}), ["a.cmake:1: told", 'a.cmake:2: "wanted"'])

    def test_the_name_of_a_file_counts(self):
        self.assertEqual(self.places({"tests/told_source.cpp": ""}), ["tests/told_source.cpp:1: told_source"])

    def test_a_test_may_use_the_names_of_a_header(self):
        header = "struct Wanted { int wanted; };\n"
        self.assertEqual(self.places({"shim/a.hpp": header, "tests/a.cpp": "Wanted a;"}), ["shim/a.hpp:1: Wanted", "shim/a.hpp:1: wanted"])
        self.assertEqual(self.places({"tests/b.hpp": header, "tests/b.cpp": "int told;"}),
                         ["tests/b.hpp:1: Wanted", "tests/b.hpp:1: wanted", "tests/b.cpp:1: told"])  # fmt: skip


class Baseline(unittest.TestCase):
    before = {"old words": {"a.md": 2, "gone.md": 4}}

    def test_a_higher_number_fails_with_its_places_and_an_equal_or_lower_one_does_not(self):
        problems = docs_check.risen({"old words": {"a.md": ["a.md:1: x", "a.md:2: y", "a.md:3: z"]}}, self.before)
        self.assertEqual(problems[0], "a.md: expected at most 2 old words, got 3:")
        self.assertEqual([line.strip() for line in problems[1:]], ["a.md:1: x", "a.md:2: y", "a.md:3: z"])
        self.assertEqual(docs_check.risen({"old words": {"a.md": ["x", "y"]}}, self.before), [])

    def test_a_file_without_a_number_may_have_none(self):
        self.assertEqual(len(docs_check.risen({"old words": {"b.md": ["b.md:1: x"]}}, self.before)), 2)

    def test_an_update_lowers_drops_and_adds_but_never_raises(self):
        now = {"old words": {"a.md": ["x", "y", "z"], "known.md": ["x"], "new.md": ["x", "y"]}}
        after = docs_check.lowered(now, self.before, {"a.md", "known.md", "gone.md"})
        self.assertEqual(after, {"old words": {"a.md": 2, "new.md": 2}})
        after = docs_check.lowered({"old words": {"a.md": ["x"]}}, self.before, {"a.md"})
        self.assertEqual(after, {"old words": {"a.md": 1}})


if __name__ == "__main__":
    unittest.main()
