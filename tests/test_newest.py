from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.newest import put_newest


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 5))
def test_the_last_ones_stay_in_the_order_in_which_they_came(keys: list[int], most: int) -> None:
    kept: dict[int, int] = {}
    for place, key in enumerate(keys):
        put_newest(kept, key, place, most)
    newest = list(dict.fromkeys(reversed(keys)))[:most]
    assert list(kept) == newest[::-1]
    assert all(keys[place] == key and key not in keys[place + 1 :] for key, place in kept.items())
