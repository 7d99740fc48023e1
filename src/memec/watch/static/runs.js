"use strict";
/* All runs of a folder: asked for every two seconds. */
const MOST_CURVES = 60;
const STATES = ["running", "finished", "failed", "interrupted"];
let board = null;
let shownEnvironment = "";

const cell = (content, name) => {
  const made = make("td", typeof content === "string" ? content : undefined, name);
  if (typeof content !== "string") made.append(content);
  return made;
};

const statusOf = (run) => {
  const pill = make("span", run.quiet ? "no sign of life" : run.status, `pill ${run.quiet ? "quiet" : STATES.includes(run.status) ? run.status : ""}`);
  pill.title = run.reason;
  return pill;
};

const progressOf = (run) => {
  const holder = make("span");
  const bar = make("progress");
  bar.max = 1;
  bar.value = run.steps ? run.step / run.steps : 0;
  bar.setAttribute("aria-label", `Share of the steps of ${run.name}`);
  holder.append(make("span", `${run.step.toLocaleString("en")} of ${run.steps.toLocaleString("en")}`, "small"), bar);
  return holder;
};

const rowOf = (run) => {
  const row = make("tr");
  if (run.trouble) {
    const trouble = cell(run.trouble, "soft");
    trouble.colSpan = 7;
    row.append(cell(run.name), trouble);
    return row;
  }
  const link = make("a", run.name);
  link.href = `run/${run.key}/`;
  row.append(
    cell(link), cell(run.agent), cell(run.strategy), cell(run.seed, "number"), cell(statusOf(run)), cell(progressOf(run)),
    cell(shown(run.evaluation?.mean_score), "number"), cell(shown(run.score), "number"),
  );
  return row;
};

const drawCurves = () => {
  if (!board) return;
  const runs = board.runs.filter((run) => !run.trouble && run.environment === shownEnvironment && run.curve.step.length);
  const kinds = [...new Set(runs.map((run) => `${run.agent} ${run.strategy}`))];
  const named = new Set();
  const traces = runs.slice(0, MOST_CURVES).map((run) => {
    const kind = `${run.agent} ${run.strategy}`;
    const first = !named.has(kind);
    named.add(kind);
    return {
      x: run.curve.step, y: run.curve.mean_score, name: kind, legendgroup: kind, showlegend: first, text: run.name,
      hovertemplate: "%{text}<br>step %{x}: %{y}<extra></extra>", mode: run.curve.step.length < 2 ? "markers" : "lines",
      line: { color: window.palette[kinds.indexOf(kind) % window.palette.length], width: 1.5 },
    };
  });
  for (const trace of traces) trace.text = trace.text.replaceAll("<", "\u2039").replaceAll(">", "\u203a");
  byId("no-curve").hidden = traces.length > 0;
  Plotly.react(byId("curve"), traces, window.chartLayout({ xaxis: { title: { text: "steps" } }, yaxis: { title: { text: "greedy score" } } }), window.chartOptions);
};

const show = () => {
  document.title = `${board.folder} · memec watch`;
  byId("name").textContent = board.folder;
  const running = board.runs.filter((run) => run.status === "running" && !run.quiet).length;
  byId("what").textContent = `${board.runs.length} runs, ${running} under way`;
  const environments = [...new Set(board.runs.filter((run) => !run.trouble).map((run) => run.environment))].sort();
  if (!environments.includes(shownEnvironment)) shownEnvironment = environments[0] ?? "";
  const choice = byId("environment");
  if ([...choice.options].map((option) => option.value).join("\n") !== environments.join("\n")) {
    choice.replaceChildren(...environments.map((name) => Object.assign(make("option", name), { value: name })));
    choice.value = shownEnvironment;
  }
  byId("runs").tBodies[0].replaceChildren(...board.runs.map(rowOf));
  drawCurves();
};

let before = "";
const look = async () => {
  const began = performance.now();
  try {
    board = await ask("api/runs");
    const content = JSON.stringify(board);
    if (content !== before) show(); // a link that is focused stays where nothing has changed
    before = content;
    byId("trouble").hidden = true;
  } catch (error) {
    byId("trouble").hidden = false;
    byId("trouble").textContent = error instanceof TypeError ? "memec watch does not answer: was it stopped?" : error.message;
  }
  window.setTimeout(look, Math.max(PAUSE, 5 * (performance.now() - began)));
};
byId("environment").addEventListener("change", (event) => {
  shownEnvironment = event.target.value;
  drawCurves();
});
document.addEventListener("themechange", drawCurves);
look();
