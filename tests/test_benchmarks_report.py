import re
from pathlib import Path
from xml.parsers import expat

import msgspec
import pytest

from benchmarks import report
from benchmarks.contract import PROMISES
from benchmarks.plot import plot
from benchmarks.results import Amount, Book, Comparison, Point, Results, load

MACHINE = {"processor": "A Processor, 2 of them", "python": "3.11.2", "git": "2.39.5"}
NOTES = """Read this *first*.

## Import

What bounds it: `zlib` & | pipes.

## Limits

Far away.
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Results of which some keep what was promised, some do not, and some are not there."""
    book = Book(tmp_path / "results.json", MACHINE)

    def compare(key: str, section: str, ours: list[float], theirs: list[float]) -> None:
        promise = next(promise for promise in PROMISES if promise.key == key)
        book.compare(
            key,
            Comparison(section=section, work=promise.work, against=promise.against, ours=ours, theirs=theirs),
        )

    compare("import-bare", "import", [2.0, 3.0, 4.0], [4.0, 4.0, 4.0])
    compare("verify-tree", "verify", [3.2, 3.2, 3.3], [2.0, 2.0, 2.0])
    compare("version", "start-up", [0.1], [0.09])
    book.amount(
        "memory-import-1000000",
        Amount(section="memory", what="import 1,000,000 records", values=[2.5e9], unit="bytes"),
    )
    book.amount("limit-00", Amount(section="limits", what="SHA-256 of all objects", values=[0.0213]))
    for size, seconds in ((20_000, 4.0), (1_000_000, 220.0)):
        point = Point(operation="import", size=size, fanout=1, bare=True, seconds=[seconds])
        point.largest, point.together = 10**8, 2 * 10**8
        book.point(point)
    book.lacks("peers-borg", "borg is not installed")
    return tmp_path / "results.json"


def test_promises_show_whether_they_are_met(results: Path) -> None:
    page = report.page(load(results), "")
    contract = cells(page.partition("## The machine")[0])
    shown = {row[0]: row[-2:] for row in contract}
    assert shown["import the catalogue, bare"] == ["**0.75** [0.50, 1.00]", "yes"]
    assert shown["verify, working tree"] == ["**1.60** [1.60, 1.65]", "**no**"]
    assert shown["import 1,000,000 records in one commit"] == ["2.5 GB", "**no**"]
    assert shown["`kstore --version`"] == ["**1.11** [1.11, 1.11]", "yes"]
    assert shown["verify 1,000,000 records"] == ["not measured", ""]
    assert len(contract) == len(PROMISES) + 1


def test_the_page_names_the_machine_the_growth_and_what_is_missing(results: Path) -> None:
    page = report.page(load(results), "")
    assert ["processor", "A Processor, 2 of them"] in cells(page)
    growth = ["import", "bare", "1", "1,000,000", "55 (50 times the records)", "220 s", "100 MB", "200 MB"]
    assert growth in cells(page)
    assert ["SHA-256 of all objects", "21.3 ms"] in cells(page)
    assert ["peers-borg", "borg is not installed"] in cells(page)


def test_notes_stand_in_their_sections_as_they_were_written(results: Path, tmp_path: Path) -> None:
    (tmp_path / "benchmarks-notes.md").write_text(NOTES)
    report.write(results, tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    import_ = page.partition("## Import\n")[2].partition("\n## ")[0]
    assert "\nWhat bounds it: `zlib` & | pipes.\n" in import_
    assert page.index("Read this *first*.") < page.index("## What is promised")
    assert (tmp_path / "benchmarks-notes.md").read_text() == NOTES


def test_notes_for_no_section_are_refused_rather_than_lost(results: Path) -> None:
    with pytest.raises(ValueError, match="no section No such section"):
        report.page(load(results), f"{NOTES}\n## No such section\n\nLost.\n")


def test_the_plot_is_well_formed_and_shows_what_was_measured(results: Path) -> None:
    drawn = plot(load(results))
    texts = {"git fast-import of the same files", "0.75  [0.50, 1.00]", "import: 55-fold", "1,000,000"}
    assert texts <= set(parsed(drawn))
    halves = drawn.split("<g ")[1:]
    assert len(halves) == 2
    for half in halves:
        places = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"', half)
        assert len(places) == len(set(places)) > 5


def test_nothing_measured_is_a_page_and_a_plot_too() -> None:
    nothing = Results(machine=MACHINE)
    assert "not measured" in report.page(nothing, "")
    assert "kstore's speed against others', and as registries grow" in parsed(plot(nothing))


def test_results_go_on_on_the_same_machine_and_begin_anew_on_another(results: Path) -> None:
    assert Book(results, MACHINE).results == load(results)
    assert not Book(results, {**MACHINE, "git": "3.0"}).results.comparisons
    assert load(results).comparisons


def test_what_is_measured_again_is_no_longer_said_to_be_missing(results: Path) -> None:
    book = Book(results, MACHINE)
    book.lacks("peers", "broke off")
    book.lacks("growth-later", "not yet")
    book.forget("peers")
    assert load(results).missing == {"growth-later": "not yet"}


def test_what_was_measured_after_all_is_missing_no_longer(results: Path) -> None:
    book = Book(results, MACHINE)
    book.lacks("import-bare", "too slow")
    assert "import-bare" in load(results).missing
    book.compare("import-bare", load(results).comparisons["import-bare"])
    assert "import-bare" not in load(results).missing
    assert msgspec.json.decode(results.read_bytes())["date"]


def parsed(drawn: str) -> list[str]:
    """Give the texts of an XML document, which must be well-formed."""
    texts: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda _name, _attributes: None  # without these, expat joins neighbours' texts
    parser.EndElementHandler = lambda _name: None
    parser.CharacterDataHandler = texts.append
    parser.Parse(drawn, True)
    return texts


def cells(page: str) -> list[list[str]]:
    """Give the rows of all tables, heads included."""
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line[2:-2].split(" | ")] for line in lines]
