# A Python with the package jsonschema, which validates output against docs/schema. common.sh sources it. It
# is in the cache folder. The system's Python must stay unchanged.
# shellcheck shell=bash

jsonschema_version=4.25.1
# shellcheck disable=SC2154 # cache is of common.sh
schema_venv=$cache/venv-jsonschema-$jsonschema_version

# Prints its Python, and fails if there is none yet.
schema_python() {
    [[ -e $schema_venv/.complete ]] && echo "$schema_venv/bin/python"
}

make_schema_venv() {
    local python
    python=$(base_python) || return
    rm -rf "$schema_venv"
    mkdir -p "$cache"
    "$python" -m venv "$schema_venv" &&
        "$schema_venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
            "jsonschema==$jsonschema_version" &&
        touch "$schema_venv/.complete"
}

# setup_schema OFFLINE(0|1): makes schema_python succeed, or prints which tests will be missing.
setup_schema() {
    schema_python >/dev/null && return
    if (($1)); then
        say "-- jsonschema is missing and nothing may be downloaded: there will be no tests of docs/schema"
        return
    fi
    step "install jsonschema $jsonschema_version" make_schema_venv
}
