"use strict";
/* Draws the report from the data in the page. Whatever the runs say is shown as text, never as markup. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  /* Plotly reads a little markup in its texts: what came from a run must not be taken for it. */
  const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const unique = (list) => [...new Set(list)];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const LINES = ["", "dashed", "dotted", "dashed"];

  const everything = data.environments.flatMap((one) => [...one.curves, ...one.unfinished]);
  const agents = unique(everything.map((one) => one.agent));
  const strategies = unique(everything.map((one) => one.strategy));
  const shown = { axis: "steps", seeds: "mean", agents: new Set(agents), strategies: new Set(strategies) };
  const colourOf = (curve, among) => {
    const labels = unique(among.map((one) => one.label ?? one.strategy));
    const alone = labels.length > unique(among.map((one) => one.strategy)).length;
    return window.palette[(alone ? labels.indexOf(curve.label ?? curve.strategy) : strategies.indexOf(curve.strategy)) % window.palette.length];
  };

  const mean = (columns) => columns[0].map((_, i) => columns.reduce((sum, column) => sum + column[i], 0) / columns.length);
  const band = (curve, x, colour) => [
    { x, y: curve.mean.map((m, i) => m - curve.deviation[i]), mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false },
    { x, y: curve.mean.map((m, i) => m + curve.deviation[i]), mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: window.withAlpha(colour, 0.16), hoverinfo: "skip", showlegend: false },
  ];
  const titleOf = (curve) => `${curve.agent} ${curve.label}`;

  const traces = (environment) => {
    const visible = (one) => shown.agents.has(one.agent) && shown.strategies.has(one.strategy);
    const timed = (one) => shown.axis === "steps" || one.seconds !== null;
    const all = [...environment.curves, ...environment.unfinished];
    const drawn = [];
    for (const curve of environment.curves.filter((one) => visible(one) && timed(one))) {
      const colour = colourOf(curve, all);
      const line = { color: colour, width: 2.2, dash: DASHES[agents.indexOf(curve.agent) % DASHES.length] };
      const name = plain(titleOf(curve));
      if (shown.seeds === "each") {
        curve.scores.forEach((scores, i) => drawn.push({
          x: shown.axis === "steps" ? curve.steps : curve.seconds[i], y: scores, name, title: titleOf(curve), showlegend: i === 0, mode: "lines",
          line: { ...line, width: 1.2 }, hovertemplate: `%{y:.5~g} (seed ${Number(curve.seeds[i])})<extra>${name}</extra>`,
        }));
      } else {
        const x = shown.axis === "steps" ? curve.steps : mean(curve.seconds);
        if (curve.seeds.length > 1) drawn.push(...band(curve, x, colour));
        const spread = curve.seeds.length > 1 ? " ± %{customdata:.3~g}" : "";
        drawn.push({ x, y: curve.mean, customdata: curve.deviation, name, title: titleOf(curve), mode: curve.steps.length < 3 ? "lines+markers" : "lines", line,
          hovertemplate: `%{y:.5~g}${spread} (${curve.seeds.length} seed${curve.seeds.length > 1 ? "s" : ""})<extra>${name}</extra>` });
      }
    }
    for (const run of environment.unfinished.filter((one) => visible(one) && timed(one))) {
      const title = `${run.name} (unfinished)`, name = plain(title);
      drawn.push({ x: shown.axis === "steps" ? run.steps : run.seconds, y: run.scores, name, title, mode: "lines",
        line: { color: colourOf(run, all), width: 1.4, dash: "dot" }, hovertemplate: `%{y:.5~g}<extra>${name}</extra>` });
    }
    return drawn;
  };

  /* Of our own: the library's stands in the way of the axis where there are many curves. */
  const legend = (drawn) => drawn.filter((trace) => trace.showlegend !== false).map((trace) => {
    const item = make("li"), line = make("span", undefined, `dash ${{ solid: "", dot: "dotted" }[trace.line.dash] ?? "dashed"}`);
    line.style.borderColor = trace.line.color;
    item.append(line, trace.title);
    return item;
  });

  const drawChart = (environment, i) => {
    const layout = window.chartLayout({
      xaxis: { title: { text: shown.axis === "steps" ? "steps" : "seconds of training" }, rangemode: "tozero" },
      yaxis: { title: { text: "greedy score" } },
      hovermode: shown.seeds === "each" ? "closest" : "x unified",
      showlegend: false,
    });
    const drawn = traces(environment);
    Plotly.react(byId(`chart-${i}`), drawn, layout, window.chartOptions);
    byId(`legend-${i}`).replaceChildren(...legend(drawn));
  };

  const draw = () => {
    data.environments.forEach(drawChart);
    const untimed = everything.filter((one) => one.seconds === null).length;
    byId("hint").textContent = shown.axis === "time" && untimed > 0 ? `${untimed} of ${everything.length} curves have no times on record and are left out.` : "";
  };

  byId("title").textContent = data.title;
  document.title = `${data.title} · memec report`;
  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  byId("summary").textContent = [count(data.runs.length, "run"), count(everything.length, "curve"), count(data.environments.length, "environment")].join(" · ");

  byId("curves").append(...data.environments.map((environment, i) => {
    const card = make("article", undefined, "card");
    const title = make("h2", environment.title);
    if (environment.id !== environment.title) title.append(make("small", environment.id));
    const chart = make("div", undefined, "chart");
    chart.id = `chart-${i}`;
    const list = make("ul", undefined, "legend small");
    list.id = `legend-${i}`;
    card.append(title, chart, list);
    return card;
  }));

  for (const id of ["axis", "seeds"]) {
    const buttons = [...byId(id).children];
    buttons.forEach((button) => button.addEventListener("click", () => {
      shown[id] = button.dataset.value;
      buttons.forEach((other) => other.setAttribute("aria-pressed", other === button));
      draw();
    }));
  }
  const choices = (holder, names, chosen, mark) => {
    if (names.length < 2) return;
    byId(holder).append(...names.map((name, i) => {
      const button = make("button", undefined, "choice");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(mark(i), name);
      button.addEventListener("click", () => {
        if (!chosen.delete(name)) chosen.add(name);
        button.setAttribute("aria-pressed", chosen.has(name));
        draw();
      });
      return button;
    }));
  };
  choices("agents", agents, shown.agents, (i) => make("span", undefined, `dash ${LINES[i % LINES.length]}`));
  choices("strategies", strategies, shown.strategies, (i) => {
    const swatch = make("span", undefined, "swatch");
    swatch.style.background = window.palette[i % window.palette.length];
    return swatch;
  });

  const isNumber = (text) => /^[-–\d]/.test(text) && /\d/.test(text);
  const tableOf = (columns, rows, name) => {
    const holder = make("div", undefined, "scroll");
    holder.tabIndex = 0;
    const table = make("table", undefined, name), head = make("thead"), body = make("tbody"), first = make("tr");
    const numeric = columns.map((_, i) => rows.every((row) => row[i] === "–" || isNumber(row[i])));
    first.append(...columns.map((text, i) => make("th", text, numeric[i] ? "number" : "")));
    head.append(first);
    body.append(...rows.map((row) => {
      const line = make("tr");
      line.append(...row.map((text, i) => {
        const cell = make("td", undefined, numeric[i] ? "number" : "");
        if (name === "verdict" && i === row.length - 1) cell.append(make("span", text, `pill ${text === "supported" ? "confirmed" : text === "contradicted" ? "failed" : ""}`));
        else cell.textContent = text;
        return cell;
      }));
      return line;
    }));
    table.append(head, body);
    holder.append(table);
    return holder;
  };
  byId("tables").append(...data.tables.map((table) => {
    const card = make("section", undefined, "card");
    card.id = `table-${table.name}`;
    card.append(make("h2", table.title));
    const later = (row) => table.name === "verdict" && row.at(-1) === "not run at the paper's budget"; // claims without runs, for those who want to know
    const [first, rest] = [table.rows.filter((row) => !later(row)), table.rows.filter(later)];
    if (first.length) card.append(tableOf(table.columns, first, table.name));
    if (rest.length) {
      const details = make("details");
      details.append(make("summary", count(rest.length, "claim") + " not yet run"), tableOf(table.columns, rest, table.name));
      card.append(details);
    }
    return card;
  }));

  const missing = [...data.runs.filter((run) => run.status !== "finished").map((run) => `${run.name}: ${run.status} at step ${run.step.toLocaleString("en")}`), ...data.passed_over];
  byId("missing").hidden = missing.length === 0;
  byId("missing-list").append(...missing.map((text) => make("li", text)));

  byId("runs").append(...data.runs.map((run) => {
    const details = make("details"), summary = make("summary", `${run.name} `);
    summary.append(make("span", `${run.environment} · ${run.agent} · ${run.strategy} · seed ${run.seed}`, "soft small"), " ",
      make("span", run.status, `pill ${["finished", "failed", "interrupted", "running"].includes(run.status) ? run.status : ""}`));
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.children.length > 1) return;
      const rows = [["last evaluation", `${run.score} at step ${run.step.toLocaleString("en")}`], ["preset", run.preset], ["command", run.command], ...Object.entries(run.settings),
        ...Object.entries(run.versions).map(([name, version]) => [`version of ${name}`, version])];
      details.append(tableOf(["setting", "value"], rows.filter(([, value]) => value !== ""), "settings"));
    });
    return details;
  }));
  byId("all-runs").open = data.runs.length <= 10;
  document.addEventListener("themechange", draw);
  data.environments.forEach((environment, i) => window.setTimeout(drawChart, 0, environment, i)); // one by one: the first can be read at once
})();
