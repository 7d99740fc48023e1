"use strict";
/* What the pages share: asking the server, and showing what it says as text, never as markup. */
const PAUSE = 2000;
const byId = (id) => document.getElementById(id);
const make = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
};
const shown = (number, digits = 4) =>
  number === null || number === undefined ? "–" : Number(Number(number).toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
const percent = (share) => (share === undefined || share === null ? "–" : `${(100 * share).toFixed(1)} %`);
const ask = async (path, query = {}) => {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`);
  const content = await answer.json();
  if (content.error) throw new Error(content.error);
  return content;
};
const duration = (seconds) => {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
};
