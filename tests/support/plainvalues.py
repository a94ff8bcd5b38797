"""Values that can be written down as literals."""

from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.binary(max_size=3) | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.integers() | st.text(max_size=2), inner, max_size=3)
    | st.sets(st.integers(), max_size=3),
    max_leaves=6,
)  # fmt: skip
