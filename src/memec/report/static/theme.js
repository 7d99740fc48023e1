"use strict";
/* Light or dark: as the system has it, or as the switch was set. Charts follow by the event "themechange". */
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const announce = () => document.dispatchEvent(new Event("themechange"));
  try {
    const kept = localStorage.getItem("memec-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch { /* a page opened from disk may have no storage */ }
  system.addEventListener("change", announce);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
    };
    label();
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("memec-theme", root.dataset.theme); } catch { /* see above */ }
      label();
      announce();
    });
    document.addEventListener("themechange", label);
  });

  /* What every chart looks like. */
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  window.chartLayout = (options) => {
    const axis = { gridcolor: colour("--line"), zeroline: false, linecolor: colour("--line"), automargin: true };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 13, color: colour("--ink") },
      margin: { l: 56, r: 16, t: 12, b: 48 },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      ...options,
      xaxis: { ...axis, ...(options.xaxis ?? {}) },
      yaxis: { ...axis, ...(options.yaxis ?? {}) },
    };
  };
  window.chartOptions = { responsive: true, displaylogo: false, displayModeBar: false };
  window.themeColour = colour;
  /* Distinct for most kinds of colour vision (after Okabe and Ito). */
  window.palette = ["#2f6fd0", "#d1731a", "#1c9a78", "#b8509a", "#7a6bd8", "#c9a11a", "#5aa9d6", "#b3372f", "#6f7c8a"];
  window.withAlpha = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, "0");
})();
