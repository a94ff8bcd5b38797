#!/bin/sh
# Install everything into a scratch environment and write down what came. Only torch keeps its line:
# left free, pip would choose a CUDA build of several gigabytes.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python=$(tools/setup.sh python)
"$python" -m venv "$scratch"
grep '^torch==' constraints.txt >"$scratch/torch.txt"
"$scratch/bin/python" -m pip install --quiet --disable-pip-version-check \
    --constraint "$scratch/torch.txt" --editable ".[all,dev]"
{
    sed -n '/^#/p; /^#/!q' constraints.txt
    "$scratch/bin/python" -m pip freeze --all --exclude pip --exclude wheel --exclude-editable
} >"$scratch/constraints.txt"
cp "$scratch/constraints.txt" constraints.txt
echo "Wrote constraints.txt: $(grep -c == constraints.txt) packages"
