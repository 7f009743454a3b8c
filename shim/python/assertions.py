# What a wrapper asserts of its tensors, as calls of expect() before the assertions. A part of the door, which has this
# text in front of door.py: the functions that it does not define are there.
import ast
import sys

# How many arguments an assertion needs at least.
ASSERTIONS = {
    "assert_size_stride": 3,
    "assert_size_stride_grouped": 3,
    "assert_tensor_metadata": 4,
    "assert_alignment": 2,
}


def asserted_by(statement):
    """Return (tensor, layout, dtype, alignment, op) for each tensor of an assertion. A layout is a tuple of sizes and
    one of strides, or empty."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = dotted(call.func) if isinstance(call, ast.Call) else ""  # noqa: F821
    if len(getattr(call, "args", [])) < ASSERTIONS.get(name, sys.maxsize):
        return []
    op = call.args[-1].value if isinstance(call.args[-1], ast.Constant) else ""
    op = op if isinstance(op, str) and op != "input" else ""
    if name == "assert_alignment":
        return [(call.args[0], [], "", call.args[1].value, op)]
    if name == "assert_size_stride_grouped":
        columns = zip(*[argument.elts for argument in call.args[:3]])
        return [(tensor, layout, "", 0, op) for tensor, *layout in columns]
    dtype = dotted(call.args[3]).removeprefix("torch.") if name == "assert_tensor_metadata" else ""  # noqa: F821
    return [(call.args[0], call.args[1:3], dtype, 0, op)]


def names_in(node):
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def is_bookkeeping(statement):
    """Return whether it is an assignment or args.clear(), as at the beginning of a wrapper."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_clear = isinstance(call, ast.Call) and dotted(call.func) == "args.clear"  # noqa: F821
    return isinstance(statement, ast.Assign) or is_clear


class Assertions:
    """The assertions of one wrapper."""

    def __init__(self):
        self.described = []
        self.site_of = {}  # what an op returned -> the number of its site
        self.early = set()  # those about inputs, which are checked at the beginning

    def follow(self, statement):
        """Note that buf2 = buf1 is another name of what an op returned."""
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            site = self.site_of.get(tensor_of(statement.value))  # noqa: F821
            if site is not None:
                self.site_of[statement.targets[0].id] = site

    def arguments(self, statements):
        """Describe what these statements assert. Return the arguments for expect(), or nothing."""
        tensors, layouts = [], []
        first = len(self.described)
        for statement in statements:
            for tensor, layout, dtype, alignment, op in asserted_by(statement):
                label = tensor_of(tensor)  # noqa: F821
                known = {"label": label, "dtype": dtype, "alignment": alignment, "op": op, "line": statement.lineno}
                if op and label in self.site_of:
                    known["site"] = self.site_of[label]
                self.described.append(known)
                tensors.append(tensor)
                layouts.append(ast.Tuple(layout, ast.Load()))
        if not tensors:
            return []
        return [ast.Constant(first), ast.Tuple(tensors, ast.Load()), ast.Tuple(layouts, ast.Load())]

    def of_inputs(self, function, is_kernel):
        """Return the assertions about the layouts of inputs, and the place in the body where all of them can be
        checked. The wrapper of newer releases asserts each of them where it uses the input."""
        known = {argument.arg for argument in function.args.args}
        inputs = set()
        for at, statement in enumerate(function.body):
            if not is_bookkeeping(statement) or is_kernel(statement):
                break
            if isinstance(statement, ast.Assign):
                targets = {name for target in statement.targets for name in names_in(target)}
                inputs |= targets if dotted(statement.value) == function.args.args[-1].arg else set()  # noqa: F821
                known |= targets
        found = []
        for statement in ast.walk(function):
            layouts = [node for _, layout, *_ in asserted_by(statement) for node in layout]
            is_known = layouts and all(names_in(node) <= known for node in layouts)
            if is_known and all(tensor_of(tensor) in inputs for tensor, *_ in asserted_by(statement)):  # noqa: F821
                found.append(statement)
        found.sort(key=lambda one: one.lineno)
        self.early.update(found)
        return found, at
