"use strict";
/* The run at this moment: asked for every two seconds. Whatever comes from the run is shown as text, never as markup. */
let latest = null;

const drawCurve = () => {
  if (!latest) return;
  const { evaluations, episodes } = latest;
  const [blue, orange] = window.palette;
  const low = evaluations.mean_score.map((mean, i) => mean - evaluations.std_score[i]);
  const high = evaluations.mean_score.map((mean, i) => mean + evaluations.std_score[i]);
  const traces = [
    { x: episodes.step, y: episodes.score, name: "training", mode: "lines", line: { color: window.withAlpha(orange, 0.75), width: 1 } },
    { x: evaluations.step, y: low, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false },
    { x: evaluations.step, y: high, mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: window.withAlpha(blue, 0.18), hoverinfo: "skip", showlegend: false },
    { x: evaluations.step, y: evaluations.mean_score, name: "greedy (band: spread of the episodes)", mode: evaluations.step.length < 30 ? "lines+markers" : "lines", line: { color: blue, width: 2 } },
  ];
  const layout = window.chartLayout({ xaxis: { title: { text: "steps" } }, yaxis: { title: { text: "score" } }, hovermode: "x unified" });
  byId("no-curve").hidden = evaluations.step.length > 0;
  Plotly.react(byId("curve"), traces, layout, window.chartOptions);
};

const showRun = (run) => {
  document.title = `${run.name} · memec watch`;
  byId("name").textContent = run.name;
  byId("what").textContent = `${run.agent} · ${run.strategy} · ${run.environment}`;
  const status = byId("status");
  status.textContent = run.quiet ? "no sign of life" : run.status;
  status.className = `pill ${run.quiet ? "quiet" : ["running", "finished", "failed", "interrupted"].includes(run.status) ? run.status : ""}`;
  status.title = run.reason;
  byId("step").textContent = run.steps ? `${run.step.toLocaleString("en")} of ${run.steps.toLocaleString("en")}` : run.step.toLocaleString("en");
  byId("progress").value = run.steps ? run.step / run.steps : 0;
  byId("evaluation").textContent = shown(run.evaluation?.mean_score);
  byId("evaluation-more").textContent = run.evaluation ? `at step ${run.evaluation.step.toLocaleString("en")}` : "no evaluation yet";
  byId("score").textContent = shown(run.score);
  byId("speed").textContent = run.speed === null ? "–" : `${shown(run.speed, 3)}/s`;
  const left = run.status === "running" && run.speed ? (run.steps - run.step) / run.speed : 0;
  byId("time").textContent = run.seconds === null || run.seconds === undefined ? "steps per second"
    : left > 0 ? `${duration(left)} left` : `${duration(run.seconds)} in all`;
  byId("fill").textContent = percent(run.diagnostics.memory_fill);
  byId("fill-more").textContent = run.diagnostics.exact_hit_rate === undefined ? "" : `${percent(run.diagnostics.exact_hit_rate)} known states`;
  byId("recall").textContent = percent(run.diagnostics.recall_estimate);
  const rows = Object.entries({ ...run.settings, command: run.command, started: run.started, reason: run.reason });
  const table = byId("settings").tBodies[0];
  table.replaceChildren(...rows.filter(([, value]) => value !== "").map(([name, value]) => {
    const row = make("tr");
    const first = make("td"), second = make("td");
    first.append(make("code", name));
    second.append(make("code", value));
    row.append(first, second);
    return row;
  }));
};

let drawn = "";
const look = async () => {
  const began = performance.now();
  try {
    const run = await ask("api/live");
    latest = run;
    showRun(run);
    const content = JSON.stringify([run.evaluations, run.episodes]);
    if (content !== drawn) drawCurve();
    drawn = content;
    byId("trouble").hidden = true;
    document.dispatchEvent(new CustomEvent("run", { detail: run }));
  } catch (error) {
    byId("trouble").hidden = false;
    byId("trouble").textContent = error instanceof TypeError ? "memec watch does not answer: was it stopped?" : error.message;
  }
  window.setTimeout(look, Math.max(PAUSE, 5 * (performance.now() - began))); // a long run takes long to read
};
document.addEventListener("themechange", drawCurve);
look();
