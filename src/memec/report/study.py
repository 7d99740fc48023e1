"""The report of many runs: figures and tables in a folder, and on request the verdict on the paper."""

from pathlib import Path

from memec.errors import MemecError
from memec.report.baselines import PRESET as UNTIL_A_SCORE
from memec.report.curves import draw_run
from memec.report.figures import draw_environment
from memec.report.page import write_page
from memec.report.paper import GAMES
from memec.report.runs import curves_of, find_runs
from memec.report.tables import atari_table, comparisons_table, overall_table, scores_table
from memec.report.verdict import PRESET, write_verdict
from memec.train.run_folder import saying_where


def report(folder: Path, out: Path | None = None, verdict: Path | None = None) -> list[str]:
    """Make the report of a run, of a folder of runs or of results; return what there is to say about it."""
    if (folder / "run.json").is_file() and out is None and verdict is None:
        picture = draw_run(folder)
        return [f"Learning curve: {picture}", f"Report: {write_page(folder, folder / 'report.html')}"]
    found = find_runs(folder)
    found = found._replace(runs=[run for run in found.runs if run.preset != UNTIL_A_SCORE])  # these have no end
    if verdict is not None:
        found = found._replace(runs=[run for run in found.runs if run.preset == PRESET])
    if not found.runs and verdict is not None:  # before the first run there is a page, too
        write_verdict(verdict, [], None)
        return [f"Verdict, with no finished run in {folder}: {verdict}"]
    if not found.runs:
        reason = f" {found.passed_over[0]}" if found.passed_over else ""
        raise MemecError(f"{folder} holds no finished run with evaluations to report on.{reason}")
    main, search = ([run for run in found.runs if run.searched == searched] for searched in (False, True))
    out = folder / "report" if out is None else out
    said = [f"Passed over: {text}" for text in found.passed_over]
    with saying_where(out):
        out.mkdir(parents=True, exist_ok=True)
        for suffix, runs in (("", main), ("-omega", search)):
            drawn = curves_of(runs)
            for environment in sorted({curve.environment for curve in drawn}):
                curves = [curve for curve in drawn if curve.environment == environment]
                said.append(f"Figure: {draw_environment(environment, curves, out, suffix)[0]}")
        curves = curves_of(found.runs)
        tables = [scores_table(curves), overall_table(curves_of(main)), comparisons_table(curves)]
        if any(curve.environment in GAMES for curve in curves):
            tables.append(atari_table(curves_of(main)))
        for table in filter(lambda table: table.rows, tables):
            (out / f"{table.name}.md").write_text(f"# {table.title}\n\n{table.markdown()}\n")
            (out / f"{table.name}.csv").write_text(table.csv())
            said.append(f"Table: {out / table.name}.md")
    if verdict is not None:
        write_verdict(verdict, found.runs, out)
        said.append(f"Verdict: {verdict}")
    return [*said, f"Report: {write_page(folder, out / 'report.html')}"]
