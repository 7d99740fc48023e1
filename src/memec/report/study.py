"""The report of many runs: figures and tables in a folder, and on request the verdict on the paper."""

from collections.abc import Sequence
from pathlib import Path

from memec.errors import MemecError
from memec.report.authors import TheirRun, agreement, read_authors
from memec.report.curves import draw_run
from memec.report.figures import draw_environment
from memec.report.judging import RELEASED, TEXT
from memec.report.page import write_page
from memec.report.paper import GAMES
from memec.report.runs import UNTIL_A_SCORE, Run, curves_of, find_runs
from memec.report.sorting import PresetOf, judge, sort_runs
from memec.report.tables import atari_table, comparisons_table, overall_table, scores_table
from memec.report.verdict import write_verdict
from memec.train.run_folder import saying_where


def report(folder: Path, out: Path | None = None, preset_of: PresetOf | None = None) -> list[str]:
    """Make the report of a run, of a folder of runs or of results; return what there is to say about it.

    With `preset_of` its page judges the paper by those runs that have its settings.
    """
    if (folder / "run.json").is_file() and out is None:
        picture = draw_run(folder)
        return [f"Learning curve: {picture}", f"Report: {write_page(folder, folder / 'report.html', preset_of)}"]
    found = find_runs(folder, unfinished=True)
    finished = found.finished()
    runs = [run for run in finished.runs if run.preset != UNTIL_A_SCORE]
    if not runs:
        reason = f" {finished.passed_over[0]}" if finished.passed_over else ""
        raise MemecError(f"{folder} holds no finished run with evaluations to report on.{reason}")
    out = folder / "report" if out is None else out
    main, search = ([run for run in runs if run.searched == searched] for searched in (False, True))
    said = [f"Passed over: {text}" for text in finished.passed_over]
    said += _draw(main, out, "") + _draw(search, out, "-omega") + _write_tables(main, search, out)
    return [*said, f"Report: {write_page(folder, out / 'report.html', preset_of, found)}"]


def report_verdict(folder: Path, page: Path, preset_of: PresetOf, out: Path | None = None) -> list[str]:
    """Judge the paper by the runs below a folder of results; return what there is to say about it."""
    found = find_runs(folder, unfinished=True)
    finished = found.finished()
    runs = sort_runs(finished.runs, preset_of)
    theirs = read_authors(folder)
    said = [f"Passed over: {text}" for text in finished.passed_over]
    judgements = judge(runs)
    text = runs.readings[TEXT]
    if not text:  # before the first run there is a page, too
        write_verdict(page, runs, judgements, None, None)
        return [*said, f"Verdict, with no finished run in {folder} that has the paper's settings: {page}"]
    out = folder / "report" if out is None else out
    said += _draw(runs.shown(), out, "", theirs) + _draw(runs.readings[RELEASED], out, "-released", theirs)
    said += _draw(runs.search, out, "-omega") + _write_tables(runs.shown(), runs.search, out)
    write_verdict(page, runs, judgements, agreement(theirs, curves_of(text)), out)
    shown = write_page(folder, out / "report.html", preset_of, found, judgements)
    return [*said, f"Verdict: {page}", f"Report: {shown}"]


def _draw(runs: Sequence[Run], out: Path, suffix: str, authors: Sequence[TheirRun] = ()) -> list[str]:
    drawn = curves_of(runs)
    said = []
    with saying_where(out):
        out.mkdir(parents=True, exist_ok=True)
        for environment in sorted({curve.environment for curve in drawn}):
            curves = [curve for curve in drawn if curve.environment == environment]
            said.append(f"Figure: {draw_environment(environment, curves, out, suffix, authors)[0]}")
    return said


def _write_tables(main: Sequence[Run], search: Sequence[Run], out: Path) -> list[str]:
    curves = curves_of([*main, *search])
    tables = [scores_table(curves), overall_table(curves_of(main)), comparisons_table(curves)]
    if any(curve.environment in GAMES for curve in curves):
        tables.append(atari_table(curves_of(main)))
    said = []
    with saying_where(out):
        for table in filter(lambda table: table.rows, tables):
            (out / f"{table.name}.md").write_text(f"# {table.title}\n\n{table.markdown()}\n")
            (out / f"{table.name}.csv").write_text(table.csv())
            said.append(f"Table: {out / table.name}.md")
    return said
