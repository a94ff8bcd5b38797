#!/bin/sh
# Set-up steps of the Makefile. Each prints one line; pip's and apt's output shows on failure only.
#
#   setup.sh python                   print the interpreter that will be used
#   setup.sh venv DIR                 make a virtual environment
#   setup.sh install DIR EXTRAS       install this project, editable, with its constraints
#   setup.sh learner DIR LIBRARY      make an environment with a learner, as its tests ask for it
#   setup.sh quietly COMMAND...       run a command, and show what it prints if it fails
#   setup.sh system-list PACKAGE...   print the Debian packages that are not installed yet
#   setup.sh system-install WHY PACKAGE...
#                                     install them when root on Debian or Ubuntu, else name them
set -eu
export DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Run a command with its output in a file that is shown only if the command fails.
quietly() {
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        rm -f "$log"
    else
        status=$?
        cat "$log" >&2
        rm -f "$log"
        return "$status"
    fi
}

# The oldest Python that will do; a learner may need a newer one (its python.txt).
least=3.11
recent() { "$1" -c "import sys; sys.exit(sys.version_info < (3, ${least#3.}))" 2>/dev/null; }

find_python() {
    # An explicit choice is obeyed or refused, never replaced.
    if [ -n "${PYTHON:-}" ]; then
        recent "$PYTHON" || die "PYTHON=$PYTHON is not a working Python $least or newer."
        printf '%s\n' "$PYTHON"
        return
    fi
    for name in python3.11 python3.12 python3.13 python3; do
        if command -v "$name" >/dev/null && recent "$name"; then
            printf '%s\n' "$name"
            return
        fi
    done
    die "Python $least or newer was not found. Install it, or name one, as in: make demo PYTHON=/path/to/python3"
}

is_debian_root() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

missing_packages() {
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$package"
    done
}

install_packages() {
    why=$1
    shift
    command -v dpkg-query >/dev/null || return 0  # Not Debian: the tests name what is missing.
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if ! is_debian_root; then
        say "Not installed (needs root on Debian or Ubuntu): $missing"
        say "  For $why. To install them: sudo apt-get install $missing"
        return 0
    fi
    say "Installing system packages for $why: $missing"
    # shellcheck disable=SC2086  # One word per package.
    { quietly apt-get update && quietly apt-get install -y --no-install-recommends $missing; } </dev/null ||
        say "The system packages could not be installed; going on without them."
}

make_venv() {
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        install_packages "virtual environments" "python$version-venv"
        "$python" -c 'import ensurepip, venv' 2>/dev/null ||
            die "$python lacks the venv module. Install it (Debian, Ubuntu: apt-get install python$version-venv) and try again."
    fi
    say "Making a virtual environment in $1 with $("$python" -V)"
    quietly "$python" -m venv "$1" || { rm -rf "$1"; die "The environment could not be made; see above."; }
}

install_project() {
    say "Installing verifier-ladder[$2] into $1 (a minute or two the first time)"
    # What is imported is compiled then; all twenty thousand files would take a minute or two.
    quietly "$1/bin/python" -m pip install --no-compile --constraint constraints.txt --editable ".[$2]" </dev/null ||
        die "The installation failed; pip's output is above."
}

install_learner() {
    wanted=tests/learners/$2
    [ ! -f "$wanted/python.txt" ] || least=$(cat "$wanted/python.txt")
    [ -x "$1/bin/python" ] || make_venv "$1"
    say "Installing $2 and verifier-ladder into $1 (some minutes the first time)"
    quietly "$1/bin/python" -m pip install --no-compile --requirement "$wanted/requirements.txt" --editable . </dev/null ||
        die "$2 could not be installed; pip's output is above."
    # A library that asks for a graphics card's packages comes without what it asks for.
    [ ! -f "$wanted/alone.txt" ] ||
        quietly "$1/bin/python" -m pip install --no-compile --no-deps --requirement "$wanted/alone.txt" </dev/null ||
        die "$2 could not be installed; pip's output is above."
}

step=${1:-}
[ $# -gt 0 ] && shift
case $step in
    python) find_python ;;
    venv) make_venv "$1" ;;
    install) install_project "$1" "$2" ;;
    learner) install_learner "$1" "$2" ;;
    quietly) quietly "$@" ;;
    system-list) missing_packages "$@" | tr ' ' '\n' ;;
    system-install) install_packages "$@" ;;
    *) die "usage: setup.sh python | venv DIR | install DIR EXTRAS | quietly COMMAND... | system-list PACKAGE... | system-install WHY PACKAGE..." ;;
esac
