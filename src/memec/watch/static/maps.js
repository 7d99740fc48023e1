"use strict";
/* The whole memory at a glance: rooms as grids of values with the best actions, other worlds as a plane of memories. */
const SVG = "http://www.w3.org/2000/svg";
const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
/* From pale to deep blue, readable on light and dark ground alike. */
const shade = (share) => {
  const mix = (from, to) => Math.round(from + (to - from) * Math.min(1, Math.max(0, share)));
  return `rgb(${mix(238, 22)},${mix(241, 84)},${mix(245, 178)})`;
};
/* North is drawn on top, so y grows upward. */
const MOVES = [[0, -1], [1, 0], [0, 1], [-1, 0]];

const roomFigure = (map, title, value, marks) => {
  const size = 20;
  const drawing = svg("svg", { viewBox: `0 0 ${map.width * size} ${map.height * size}`, role: "img", "aria-label": `${title}: a map of the room` });
  drawing.append(svg("rect", { x: 0, y: 0, width: "100%", height: "100%", fill: "#3c4048" }));
  const values = map.cells.map(value);
  const low = Math.min(...values), high = Math.max(...values);
  map.cells.forEach((cell, i) => {
    const x = cell.x * size, y = (map.height - 1 - cell.y) * size;
    const share = high > low ? (values[i] - low) / (high - low) : 0;
    const tile = svg("rect", { x, y, width: size, height: size, fill: shade(share), stroke: "#ffffff55", "stroke-width": 0.5 });
    const text = svg("title", {});
    text.textContent = `(${cell.x}, ${cell.y})  ${map.actions.map((name, a) => `${name} ${shown(cell.values[a])}${cell.known.length && !cell.known[a] ? " (estimated)" : ""}`).join(", ")}`;
    tile.append(text);
    drawing.append(tile, ...marks(cell, x + size / 2, y + size / 2, share));
  });
  const figure = make("figure");
  figure.append(make("figcaption", title), drawing);
  return figure;
};

const arrows = (cell, x, y, share) => {
  const colour = share > 0.55 ? "#ffffff" : "#1c2430";
  if (cell.best.length === cell.values.length) return [svg("circle", { cx: x, cy: y, r: 1.5, fill: colour })];
  return cell.best.map((action) => {
    const [dx, dy] = MOVES[action];
    const tip = [x + 7 * dx, y + 7 * dy], left = [x + 3 * dx - 3 * dy, y + 3 * dy + 3 * dx], right = [x + 3 * dx + 3 * dy, y + 3 * dy - 3 * dx];
    return svg("path", { d: `M${x} ${y}L${tip}M${left}L${tip}L${right}`, stroke: colour, "stroke-width": 1.6, fill: "none", "stroke-linecap": "round", "pointer-events": "none" });
  });
};

const showRooms = (map) => {
  const holder = make("div", undefined, "rooms");
  holder.append(roomFigure(map, "best value and policy", (cell) => Math.max(...cell.values), arrows));
  const unknown = (action) => (cell, x, y, share) =>
    cell.known.length && !cell.known[action] ? [svg("circle", { cx: x, cy: y, r: 1.6, fill: share > 0.55 ? "#ffffff99" : "#1c243066", "pointer-events": "none" })] : [];
  map.actions.forEach((name, action) => holder.append(roomFigure(map, name, (cell) => cell.values[action], unknown(action))));
  byId("map").replaceChildren(holder);
  byId("map-actions").replaceChildren();
  byId("map-more").textContent = "What the agent believes every cell is worth; darker is more. Arrows show the best action, dots cells it has never tried.";
};

/* A few memories far from all others must not press the rest together: they lie outside until one zooms out. */
const within = (column, mark) => {
  const sorted = [...column].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [low, high] = [Math.min(at(0.01), mark ?? Infinity), Math.max(at(0.99), mark ?? -Infinity)];
  const room = 0.08 * (high - low) || 1;
  return [low - room, high + room];
};

let plane = null, shownAction = -1, here = null;
const drawPlane = () => {
  if (!plane) return;
  const chosen = plane.x.map((_, i) => i).filter((i) => shownAction < 0 || plane.action_of[i] === shownAction);
  const pick = (column) => chosen.map((i) => column[i]);
  const traces = [{
    x: pick(plane.x), y: pick(plane.y), mode: "markers", type: "scatter", name: "memories",
    marker: { size: 5, opacity: 0.75, color: pick(plane.returns), colorscale: "Viridis", showscale: true, colorbar: { title: { text: "return" }, thickness: 12, outlinewidth: 0 } },
    text: chosen.map((i) => `${plane.actions[plane.action_of[i]]}: return ${shown(plane.returns[i])}, stored at step ${plane.steps[i].toLocaleString("en")}`),
    hoverinfo: "text",
  }];
  if (here) traces.push({ x: [here[0]], y: [here[1]], mode: "markers", name: "this moment", hoverinfo: "name",
    marker: { size: 16, symbol: "circle-open", color: window.palette[7], line: { width: 3 } } });
  const plain = (column, mark) => ({ showticklabels: false, title: { text: "" }, range: within(column, mark) });
  const axes = { xaxis: plain(plane.x, here?.[0]), yaxis: plain(plane.y, here?.[1]) };
  Plotly.react(byId("plane"), traces, window.chartLayout({ ...axes, showlegend: false, hovermode: "closest" }), window.chartOptions);
};

const showPlane = (map) => {
  plane = map;
  shownAction = -1;
  const chart = make("div", undefined, "chart points");
  chart.id = "plane";
  byId("map").replaceChildren(chart);
  byId("map-more").textContent = `Each point is a memory (${map.x.length.toLocaleString("en")} of ${map.entries.toLocaleString("en")}), coloured by its return; near points have similar keys. The two directions show ${percent(map.explained)} of how the keys differ.`;
  const buttons = [["all actions", -1], ...map.actions.map((name, action) => [name, action])].map(([name, action]) => {
    const button = make("button", name);
    button.type = "button";
    button.setAttribute("aria-pressed", action === shownAction);
    button.addEventListener("click", () => {
      shownAction = action;
      buttons.forEach((other) => other.setAttribute("aria-pressed", other === button));
      drawPlane();
    });
    return button;
  });
  byId("map-actions").replaceChildren(...buttons);
  drawPlane();
};

window.showMap = (map) => {
  plane = null;
  byId("map-card").hidden = map.kind === "none";
  if (map.kind === "room") showRooms(map);
  if (map.kind === "points") showPlane(map);
};
window.showPlace = (place) => {
  here = place;
  drawPlane();
};
document.addEventListener("themechange", drawPlane);
