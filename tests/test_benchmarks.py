import sys
import time

import pytest

from benchmarks import measure, memory


def test_a_ratio_is_that_of_the_pairs_and_not_of_the_medians() -> None:
    assert measure.ratio([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]) == measure.Spread(median=3.0, least=2.0, greatest=4.0)


def test_ratios_need_pairs() -> None:
    with pytest.raises(ValueError, match="zip"):
        measure.ratio([1.0, 2.0], [1.0])


def test_ways_are_measured_in_turn_and_the_first_run_of_each_does_not_count() -> None:
    calls: list[str] = []

    def way(name: str) -> measure.Timed:
        def timed() -> float:
            calls.append(name)
            return float(len(calls))

        return timed

    assert measure.in_turn({"a": way("a"), "b": way("b")}, 2) == {"a": [3.0, 5.0], "b": [4.0, 6.0]}
    assert calls == ["a", "b"] * 3


def test_the_table_has_ratios_to_the_first_way_and_times_in_the_unit() -> None:
    text = measure.table({"ours": [0.001, 0.002], "theirs": [0.004, 0.006]})
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["ours", "1", "(1", "to", "1)", "1.5", "(1", "to", "2)"],
        ["theirs", "3.5", "(3", "to", "4)", "5", "(4", "to", "6)"],
    ]


def test_a_process_is_measured_from_its_start_to_its_end() -> None:
    assert measure.process([sys.executable, "-c", "import time; time.sleep(0.05)"]) > 0.05


def test_the_peak_of_memory_is_the_process_s_own() -> None:
    mine = b"x" * 200_000_000
    programs = ([sys.executable, "-c", f"b'x' * {size}"] for size in (0, len(mine) // 2))
    small, large = (memory.usage(program).largest for program in programs)
    assert small < 50_000_000
    assert 100_000_000 < large < 150_000_000


def test_memory_is_that_of_all_processes_together_too() -> None:
    sleeps = "import time; held = b'x' * 60_000_000; time.sleep(1.2)"
    two = f"import subprocess, sys; children = [subprocess.Popen([sys.executable, '-c', {sleeps!r}]) for _ in 'ab']; "
    used = memory.usage([sys.executable, "-c", f"{two}sys.exit(any(child.wait() for child in children))"])
    assert 60_000_000 < used.largest < 110_000_000
    assert used.together > 120_000_000
    assert used.seconds > 1.2


def test_a_process_that_takes_too_long_is_killed_with_what_it_started() -> None:
    child = f"{sys.executable} -c 'import time; time.sleep(60)'"
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="took more than 0 seconds"):
        measure.process(["sh", "-c", f"{child} & {child}"], timeout=0.3)
    assert time.monotonic() - start < 30


def test_a_program_that_is_not_there_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="no-such-program cannot be run"):
        measure.process(["no-such-program"])


def test_a_way_that_fails_is_left_out_and_the_others_go_on() -> None:
    def fails() -> float:
        raise RuntimeError("broken")

    dropped: dict[str, str] = {}
    rounds = list(measure.rounds({"a": lambda: 1.0, "b": fails}, 2, dropped))
    assert rounds == [{"a": [1.0]}, {"a": [1.0, 1.0]}]
    assert dropped == {"b": "broken"}
    with pytest.raises(RuntimeError, match="broken"):
        list(measure.rounds({"b": fails}, 1))


def test_a_process_that_fails_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="ended with 3: oh no"):
        measure.process([sys.executable, "-c", "import sys; print('oh no', file=sys.stderr); sys.exit(3)"])
