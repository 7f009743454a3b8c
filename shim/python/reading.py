# What single expressions and texts of a wrapper say, and what PyTorch says about the graph behind it. A part of the
# door, which has this text in front of the others. It changes nothing.
import ast
import copy
import re
import sys

# Ops of these names follow PyTorch's rule: only those that end in _ or have an `out` change an argument.
PURE = ("extern_kernels.", "torch.ops.aten.", "torch.ops.prims.", "aten.")
GRAPH = re.compile(r"\s*# AOT ID: \['(\w+)'")
SYMBOL = re.compile(r"(s|ks|u|zuf)\d+$")
ARITHMETIC = ("abs", "float", "int", "math", "max", "min", "round")
# What Dynamo said when it compiled a forward, by compile id. The backward can come much later.
origins = {}


def dotted(node):
    """Return "torch.ops.aten.sort.stable" for such a name, or nothing."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ""


def tensor_of(node):
    """Return the name of the tensor behind reinterpret_tensor(buf0, ...) or buf0, or nothing."""
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return node.id if isinstance(node, ast.Name) else ""


def parameters_of_cpp(call):
    """Return the parameters of async_compile.cpp_pybind(types, source), by their names in the source."""
    found = re.search(r"\bkernel\(([^)]*)\)", call.args[1].value)
    return re.findall(r"(\w+)\s*(?:,|$)", found[1]) if found else []


def role_by_name(parameter):
    if parameter.startswith("out_ptr"):
        return "writes"
    if parameter.startswith("in_out_ptr"):
        return "updates"
    return "reads" if parameter.startswith("in_ptr") else "unknown"


def roles_of_op(name, count):
    """Return the roles of the arguments of an op without names."""
    if not name.startswith(PURE):
        return ["unknown"] * count
    changes = any(part.endswith("_") and not part.endswith("__") for part in name.split("."))
    return ["updates" if changes and at == 0 else "reads" for at in range(count)]


def parameters_of_triton(source):
    """Return (name, type) of the parameters of the function that a kernel's source defines last."""
    found = re.findall(r"^def \w+\(([^)]*)\)", source, re.M)
    names = [one.split(":")[0].strip() for one in found[-1].split(",")] if found else []
    signature = re.search(r"'signature': (\{[^{}]*\})", source)
    types = ast.literal_eval(signature[1]) if signature else {}
    return [(name, types.get(name, "")) for name in names]


def braces(node):
    """Return "{4, 16}" for the tuple (4, 16)."""
    return "{" + ", ".join(ast.unparse(one) for one in node.elts) + "}"


def is_symbolic(node):
    """True for s27 and max(1, s27 // 2), but not for reinterpret_tensor(buf0, (s27, 4), (4, 1), 0)."""
    names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
    return any(map(SYMBOL.match, names)) and all(SYMBOL.match(one) or one in ARITHMETIC for one in names)


def written_view(node):
    """Return sizes, strides and offset of reinterpret_tensor(buf0, (4, 16), (16, 1), 0), or nothing."""
    if not isinstance(node, ast.Call):
        return []
    if len(node.args) != 4 or not isinstance(node.args[1], ast.Tuple) or not isinstance(node.args[2], ast.Tuple):
        return ["?", "?", "?"]
    return [braces(node.args[1]), braces(node.args[2]), ast.unparse(node.args[3])]


def statement_of(statement, values, results, descriptors):
    """Return a statement with $0 for its first argument, and how its results get their names."""
    places = {id(node): ast.Name(f"${at}") for at, node in enumerate(values) if not isinstance(node, ast.Constant)}
    for keyword in statement.value.keywords:
        if keyword.arg == "stream":
            places[id(keyword.value)] = ast.Name("stream")
    for node in statement.value.args:
        if isinstance(node, ast.Name) and node.id in descriptors:
            places[id(node)] = copy.deepcopy(descriptors[node.id], places)
    named = [f"{label} = {ast.unparse(node)}" for label, node in results if isinstance(node, ast.Subscript)]
    return "\n".join([ast.unparse(copy.deepcopy(statement, places)), *named])


def asked(module, question):
    """Ask a module that the program has imported. Return "" if it does not know."""
    try:
        return question(sys.modules[module])
    except Exception:  # noqa: BLE001: these are PyTorch's own attributes, and may change
        return ""


def function_of(module):
    """Return the function that Dynamo compiles in this thread."""
    translator = module.InstructionTranslator.current_tx()
    code = translator.f_code
    name = getattr(code, "co_qualname", code.co_name)
    if code.co_name == "inner" and code.co_freevars == ("fn",):  # Dynamo's own, around a module of PyTorch
        compiled = type(translator.closure[0].cell_contents)
        code = compiled.forward.__code__
        name = f"{compiled.__qualname__}.forward"
    return {"function": name, "place": f"{code.co_filename}:{code.co_firstlineno}"}


def origin_of(text):
    """Return what PyTorch says about the graph that it is loading, without changing anything."""
    found = GRAPH.match(text)
    graph = found[1] if found else ""
    compile_id = str(asked("torch._guards", lambda guards: guards.CompileContext.try_get().compile_id) or "")
    if function := asked("torch._dynamo.symbolic_convert", function_of):
        why = asked("torch._dynamo.utils", lambda utils: utils.get_metrics_context()._metrics["recompile_reason"])
        origins[compile_id] = {**function, "recompiled": why if isinstance(why, str) else ""}
    known = origins.get(compile_id, {}) if compile_id else {}
    return {"graph": graph, "direction": graph.rpartition("_")[2], "compile": compile_id, **known}
