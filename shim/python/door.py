# The door of torch.compile. The library runs this in an interpreter that imports torch. It makes the Python wrappers
# that Inductor writes report their kernels: before and after each one, with the tensors. Their source, results,
# exceptions and line numbers must stay the same, and nothing may be recompiled. It writes no file.
#
# The library defines here, before it runs this:
#   add_model(json) -> number      describes a wrapper; -1 if it cannot be added
#   begin_run(number, inputs)      a call of the wrapper
#   end_run(number, outputs)       its end; None after an exception
#   before(number, site, values)   a kernel is about to be launched
#   after(number, site, values)    it has been launched; the values are what an op returned
#   expect(number, first, tensors, layouts)    the wrapper is about to assert sizes and strides
#   complain(text)
#   wants_values                   whether it inspects tensors at all
#   wants_statements               whether it captures calls
#   wants_asserts                  whether it checks what the wrapper asserts
import ast
import builtins
import json
import re
import sys
import types

TARGET = "torch._inductor.runtime.compile_tasks"
PREFIX = "_aoti_dbg_"
# Wrappers import what they call from here.
DOOR = "_aoti_dbg"
CALLBACKS = ("begin_run", "end_run", "before", "after", "expect")
OPS = ("extern_kernels.", "torch.ops.", "aten.", "_quantized.", "inductor_ops.")
ON_CUDA = re.compile(r"\s+.*(empty_strided_cuda\(|torch\.cuda\._DeviceGuard|get_raw_stream\()")
NODES = re.compile(r"# (?:Topologically Sorted|Unsorted) Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]")
# With INDUCTOR_PROVENANCE=1, above each kernel.
HANDLE = re.compile(r"\s+# \[Provenance debug handles\] (.+:\d+)$")


def known_stacks():
    """Return what Inductor knows of the wrapper that it loads now: from its cache, or because it compiled it."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "after_deserialization":
            text = getattr(frame.f_locals.get("self"), "inductor_provenance_stack_traces_str", None)
            try:
                return json.loads(text or "null")
            except (TypeError, ValueError):
                return None
        frame = frame.f_back
    return getattr(sys.modules.get("torch._inductor.debug"), "_inductor_kernel_stack_trace", None)


def stacks_of(handles):
    """Return the Python stacks of the kernels, if all are known."""
    known = known_stacks() if handles else None
    if not isinstance(known, dict) or not all(isinstance(known.get(handle), list) for handle in handles):
        return {}
    return {handle: [str(one).encode("utf-8", "replace").decode() for one in known[handle]] for handle in handles}


class Wrapper:
    """One wrapper: what it consists of, and its statements with ours around them."""

    def __init__(self, tree, text, path):
        self.tree, self.path, self.lines = tree, path, text.splitlines()
        self.sites, self.inputs, self.outputs = [], [], []
        self.asserted = Assertions()  # noqa: F821: assertions.py is in front of this text
        self.kernels = {}  # name -> ("triton" | "cpp", roles and names of its parameters)
        self.triton_kernels = []
        self.allocations, self.shared = [], []
        self.descriptors = {}  # of TMA: name -> the call that creates it from a tensor
        self.numbers = []  # nodes for the number of the model, which is known last
        self.nodes_at, self.handles_at = {}, {}  # by the line of the comment
        self.kernel_lines = set()
        for number, line in enumerate(self.lines, 1):
            if found := NODES.search(line):
                parts = [part.split(",") for part in found.groups()]
                self.nodes_at[number] = [[one.strip() for one in part if one.strip()] for part in parts]
            if found := HANDLE.match(line):
                self.handles_at[number] = found[1]

    def comment_above(self, statement, comments):
        """Return the comment above a kernel, or None. Other statements can be between them."""
        self.kernel_lines.add(statement.end_lineno)
        for line in range(statement.lineno - 1, 0, -1):
            if line in comments:
                return comments[line]
            if line in self.kernel_lines or self.lines[line - 1].lstrip().startswith("def "):
                break
        return None

    def read_kernels(self):
        for node in self.tree.body:
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            name, call = node.targets[0], node.value
            if not isinstance(name, ast.Name):
                continue
            how = dotted(call.func)
            if how == "async_compile.triton" and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
                source = call.args[1].value
                is_own = "user_autotune" not in source and "custom_kernel=True" not in source
                parameters = parameters_of_triton(source)
                names = [one for one, _ in parameters]
                roles = [role_by_name(one) if is_own else "unknown" for one in names]
                self.kernels[name.id] = ("triton", roles, names)
                self.triton_kernels.append({"name": name.id, "parameters": parameters})
            elif how.startswith("async_compile.cpp") and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
                names = parameters_of_cpp(call)
                self.kernels[name.id] = ("cpp", [role_by_name(one) for one in names], names)

    def kind_of(self, statement):
        """Return (name, symbol, kind, call) of a kernel statement, or None."""
        call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
        name = dotted(call.func) if isinstance(call, ast.Call) else ""
        if name.endswith(".run") and (name[:-4] in self.kernels or name.startswith(("triton_", "multi_kernel_"))):
            return name[:-4], "", "triton", call
        if name in self.kernels:
            return name, "", self.kernels[name][0], call
        if name.startswith(OPS):
            symbol = name.removeprefix("torch.ops.").removeprefix("extern_kernels.")
            return name, symbol, "op", call
        return None

    def note_memory(self, statement):
        """Note an allocation, or another name for a tensor."""
        at = len(self.sites)
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return
        name, value = statement.targets[0].id, statement.value
        how = dotted(value.func) if isinstance(value, ast.Call) else ""
        if how.startswith("empty_strided") and len(value.args) == 3:
            sizes, strides, dtype = value.args
            made = {"name": name, "sizes": braces(sizes), "strides": braces(strides), "before": at}
            self.allocations.append({**made, "dtype": dotted(dtype).removeprefix("torch.")})
        elif how.endswith("TensorDescriptor.from_tensor") and value.args:
            self.descriptors[name] = value
        elif isinstance(value, ast.Name) or how in ("reinterpret_tensor", "_reinterpret_tensor"):
            self.shared.append({"name": name, "of": tensor_of(value), "is_view": how != "", "from": at})

    def instrument(self, statements, is_outermost):
        changed = []
        for at, statement in enumerate(statements):
            self.note_memory(statement)
            for block in ("body", "orelse", "finalbody"):
                inner = getattr(statement, block, None)
                if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                    setattr(statement, block, self.instrument(inner, is_outermost))
            if is_outermost and isinstance(statement, ast.Return) and statement.value is not None:
                values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
                self.outputs = [tensor_of(one) for one in values]
                name = ast.Name(PREFIX + "result", ast.Store())
                taken = ast.Assign([name], statement.value)
                back = ast.Return(ast.Name(PREFIX + "result", ast.Load()))
                changed += [ast.copy_location(taken, statement), ast.copy_location(back, statement)]
                continue
            found = self.kind_of(statement)
            if found is None:
                is_early = statement in self.asserted.early
                changed += [*([] if is_early else self.expect(statement, [statement])), statement]
                self.asserted.follow(statement)
                continue
            values, results = self.add_site(statement, statements[at + 1 :], *found)
            site = ast.Constant(len(self.sites) - 1)
            changed.append(self.call("before", statement, site, ast.Tuple(values, ast.Load())))
            changed.append(statement)
            changed.append(self.call("after", statement, site, ast.Tuple(results, ast.Load())))
        return changed

    def call(self, name, place, *arguments):
        self.numbers.append(ast.Constant(-1))
        call = ast.Call(ast.Name(PREFIX + name, ast.Load()), [self.numbers[-1], *arguments], [])
        return ast.copy_location(ast.Expr(call), place)

    def expect(self, place, asserted):
        """Return the statement that checks what these statements assert, if any."""
        arguments = self.asserted.arguments(asserted) if wants_asserts else []  # noqa: F821: the library's
        return [self.call("expect", place, *arguments)] if arguments else []

    def expect_inputs(self, function):
        asserted, at = self.asserted.of_inputs(function, self.kind_of)
        function.body[at:at] = self.expect(function.body[at], asserted)

    def results_of(self, statement, following):
        """Return the names of what a statement returns, with expressions for them: buf3, or buf4 = buf3[0]."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return []
        result = statement.targets[0].id
        elements = []
        for next_one in following:
            value = getattr(next_one, "value", None)
            if isinstance(next_one, ast.Assign) and isinstance(value, ast.Subscript) and dotted(value.value) == result:
                elements.append((next_one.targets[0].id, value))
        return elements or [(result, ast.Name(result, ast.Load()))]

    def add_site(self, statement, following, name, symbol, kind, call):
        """Describe a kernel statement. Return the expressions for its arguments and for its results."""
        _, roles, names = self.kernels.get(name, ("", [], []))
        arguments, values = [], []

        def add(node, role, parameter):
            if isinstance(node, (ast.List, ast.Tuple)):
                for element in node.elts:
                    add(element, role, parameter)
                return
            if isinstance(node, ast.Name) and node.id in self.descriptors:
                node = self.descriptors[node.id].args[0]
            label = tensor_of(node)
            if not label and parameter and isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
                label = parameter  # alpha=1
            elif not label and is_symbolic(node) and wants_values:  # noqa: F821: the library's
                label = ast.unparse(node)  # s27 // 2
            elif not label:
                return
            is_scalar = isinstance(node, ast.Constant) or is_symbolic(node) or label.endswith("numel")
            arguments.append({"label": label, "role": role, "parameter": parameter, "is_tensor": not is_scalar})
            arguments[-1]["view"] = written_view(node)
            arguments[-1]["value"] = ast.unparse(node) if is_scalar else ""
            values.append(node)

        if kind == "op":
            roles = roles_of_op(name, len(call.args))
        for position, node in enumerate(call.args):
            role = roles[position] if position < len(roles) else "unknown"
            add(node, role, names[position] if position < len(names) else "")
        for keyword in call.keywords:
            if keyword.arg not in ("stream", "grid", None):
                other = "reads" if name.startswith(PURE) else "unknown"
                add(keyword.value, "writes" if keyword.arg.startswith("out") else other, keyword.arg)
        results = self.results_of(statement, following)
        for label, _ in results:
            self.asserted.site_of[label] = len(self.sites)
            made = {"label": label, "role": "makes", "parameter": "", "is_tensor": True, "view": [], "value": ""}
            arguments.append(made)
        nodes, aten = self.comment_above(statement, self.nodes_at) or ([], [])
        handle = self.comment_above(statement, self.handles_at) or ""
        described = {"handle": handle, "name": name, "symbol": symbol, "kind": kind, "line": statement.lineno}
        if wants_statements:  # noqa: F821: the library's
            described["statement"] = statement_of(statement, values, results, self.descriptors)
        self.sites.append({**described, "nodes": nodes, "aten": aten, "arguments": arguments})
        return (values, [node for _, node in results]) if wants_values else ([], [])  # noqa: F821: the library's

    def wrap(self, function, argument):
        """Put begin_run and end_run around the body of the outermost function."""
        inputs = next((one for one in function.body if isinstance(one, ast.Assign)), None)
        if inputs is not None and isinstance(inputs.value, ast.Name) and inputs.value.id == argument:
            target = inputs.targets[0]
            self.inputs = [one.id for one in getattr(target, "elts", [target]) if isinstance(one, ast.Name)]
        first = function.body[0]
        empty = ast.Assign([ast.Name(PREFIX + "result", ast.Store())], ast.Constant(None))
        begin = self.call("begin_run", first, ast.Name(argument, ast.Load()))
        end = self.call("end_run", first, ast.Name(PREFIX + "result", ast.Load()))
        self.expect_inputs(function)
        # A signal's handler may raise as soon as begin_run() has returned.
        body = ast.Try([begin, *self.instrument(function.body, True)], [], [], [end])
        function.body = [ast.copy_location(empty, first), ast.copy_location(body, first)]

    def import_door(self):
        names = [ast.alias(name, PREFIX + name) for name in CALLBACKS]
        body = self.tree.body
        at = next(
            at
            for at, one in enumerate(body)
            if not (isinstance(one, ast.Expr) or (isinstance(one, ast.ImportFrom) and one.module == "__future__"))
        )
        body.insert(at, ast.copy_location(ast.ImportFrom(DOOR, names, 0), body[at]))

    def change(self):
        self.read_kernels()
        outermost = None
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == "call":
                outermost = node
            if isinstance(node, ast.ClassDef) and node.name == "Runner":
                functions = [one for one in node.body if isinstance(one, ast.FunctionDef)]
                outermost = next((one for one in functions if one.name == "call"), None)
        if outermost is None:
            return False
        for node in self.tree.body:
            # Partitions, and the bodies of control flow.
            is_part = isinstance(node, ast.FunctionDef) and [one.arg for one in node.args.args] == ["args"]
            if is_part and node is not outermost:
                self.expect_inputs(node)
                first = len(self.sites)
                node.body = self.instrument(node.body, False)
                for site in self.sites[first:]:
                    site["may_repeat"] = not node.name.startswith("partition_")
        self.wrap(outermost, outermost.args.args[-1].arg)
        self.import_door()
        ast.fix_missing_locations(self.tree)
        path = self.path.encode("utf-8", "replace").decode()
        described = {"path": path, "inputs": self.inputs, "outputs": self.outputs, "sites": self.sites}
        described |= {"kernels": self.triton_kernels, "allocations": self.allocations}
        described |= {"shared": self.shared, "expected": self.asserted.described}
        described["is_on_cuda"] = any(ON_CUDA.match(line) for line in self.lines)
        described["stacks"] = stacks_of(list(self.handles_at.values()))
        described["origin"] = origin_of("\n".join(self.lines[:3]))
        number = add_model(json.dumps(described))  # noqa: F821: the library defines it
        for node in self.numbers:
            node.value = number
        return number >= 0


def compile_wrapper(source, filename, mode, *rest, **options):
    """Compile like the built-in function, and change the text if it is a wrapper."""
    try:
        if isinstance(source, str) and mode == "exec" and "AsyncCompile()" in source and "def call(" in source:
            wrapper = Wrapper(ast.parse(source, filename), source, filename)
            if wrapper.change():
                return builtins.compile(wrapper.tree, filename, mode, *rest, **options)
    except Exception as error:  # noqa: BLE001: the program must not notice
        complain(ascii(f"{filename}: {type(error).__name__}: {error}"))  # noqa: F821: the library defines it
    return builtins.compile(source, filename, mode, *rest, **options)


class Loader:
    """Changes the module once it is there."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        sys.meta_path = [one for one in sys.meta_path if not isinstance(one, Finder)]
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        module.compile = compile_wrapper


class Finder:
    is_asking = False

    def find_spec(self, name, path=None, target=None):
        if name != TARGET or Finder.is_asking:
            return None
        Finder.is_asking = True
        try:
            spec = ask_others(self, name, path, target)
        finally:
            Finder.is_asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader)
        return spec


def ask_others(finder, name, path, target):
    for other in list(sys.meta_path):
        spec = other.find_spec(name, path, target) if other is not finder and hasattr(other, "find_spec") else None
        if spec is not None:
            return spec
    return None


door = types.ModuleType(DOOR)
for callback in CALLBACKS:
    setattr(door, callback, globals()[callback])
sys.modules[DOOR] = door
if TARGET in sys.modules:
    sys.modules[TARGET].compile = compile_wrapper
else:
    sys.meta_path.insert(0, Finder())
