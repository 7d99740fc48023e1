"use strict";
/* The memory explorer: an episode moment by moment, and behind every action its memories. */
const episode = { query: null, length: 0, actions: [], scores: [], ending: "", note: "" };
let at = 0, chosenAction = 0, followsAgent = true, asked = 0, timer = null;

const moveTo = async (moment) => {
  if (!episode.query) return;
  at = Math.min(Math.max(moment, 0), episode.length - 1);
  byId("moment").value = at;
  const mine = ++asked;
  const query = { ...episode.query, moment: at };
  try {
    const thought = await ask("api/moment", query);
    if (mine !== asked) return; // the reader has moved on
    byId("picture").src = `picture/moment?${new URLSearchParams(query)}`;
    showMoment(thought);
  } catch (error) {
    byId("working").textContent = error.message;
    stop();
  }
};

const showMoment = (thought) => {
  const last = thought.chosen === null;
  byId("where").textContent = `moment ${at} of ${episode.length - 1} · score ${shown(thought.score)}`;
  byId("numbers").textContent = (thought.observation ? `Observation: ${thought.observation.map((n) => shown(n)).join(", ")}. ` : "") + (last ? `The episode ended: ${episode.ending}.` : "");
  if (followsAgent && !last) chosenAction = thought.chosen;
  const spread = thought.std ?? thought.spread;
  const ends = thought.values.flatMap((value, action) => [value - (spread?.[action] ?? 0), value + (spread?.[action] ?? 0)]);
  const low = Math.min(0, ...ends), high = Math.max(0, ...ends);
  const place = (value) => (high > low ? (100 * (value - low)) / (high - low) : 0);
  const focused = document.activeElement?.closest(".action") !== null;
  byId("actions").replaceChildren(...episode.actions.map((name, action) => {
    const value = thought.values[action];
    const button = make("button", undefined, "action");
    button.type = "button";
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", action === chosenAction);
    button.tabIndex = action === chosenAction ? 0 : -1;
    const called = make("span", name, "called");
    if (action === thought.chosen) called.append(make("small", "taken"));
    const bars = make("span", undefined, "bars");
    const bar = make("span", undefined, "bar"), length = make("i"), zero = make("b"), policy = make("span", undefined, "bar policy"), share = make("i");
    length.style.left = `${place(Math.min(0, value))}%`;
    length.style.width = `${Math.abs(place(value) - place(0))}%`;
    zero.style.left = `${place(0)}%`;
    bar.append(length, zero);
    if (spread && spread[action] > 0) {
      const range = make("u");
      range.style.left = `${place(value - spread[action])}%`;
      range.style.width = `${place(value + spread[action]) - place(value - spread[action])}%`;
      bar.append(range);
    }
    share.style.width = thought.policy ? `${100 * thought.policy[action]}%` : 0;
    policy.append(share);
    bars.append(bar, policy);
    const figures = make("span", undefined, "figures");
    const number = make("span", spread?.[action] > 0 ? `${shown(value)} ± ${shown(spread[action], 3)}` : shown(value), "value");
    number.dataset.value = value;
    figures.append(number, make("br"), make("span", thought.policy ? percent(thought.policy[action]) : "", "soft small"));
    button.append(called, bars, figures);
    button.addEventListener("click", () => choose(action, thought));
    return button;
  }));
  if (focused) byId("actions").children[chosenAction]?.focus();
  byId("legend").textContent = `Blue: value, with ${thought.std ? "the standard deviation the strategy uses" : thought.spread ? "the spread of the returns behind it" : "no spread"}. Orange: how often the strategy would take the action.`;
  showMemories(thought);
  window.showPlace(thought.place);
};

const choose = (action, thought) => {
  chosenAction = action;
  followsAgent = thought.chosen === action;
  [...byId("actions").children].forEach((button, i) => {
    button.setAttribute("aria-checked", i === action);
    button.tabIndex = i === action ? 0 : -1;
  });
  byId("actions").children[action].focus();
  showMemories(thought);
};

const showMemories = (thought) => {
  const found = thought.memories[chosenAction];
  byId("behind").hidden = !found;
  if (!found) return;
  byId("behind-title").textContent = `Memories behind “${episode.actions[chosenAction]}”`;
  byId("behind-more").textContent = found.returns.length === 0 ? "Nothing is remembered of this action yet."
    : found.exact && found.outcomes.length ? "This very state is known: its value is the mean of what came of it."
    : found.exact ? "This very state is known: its value is the best return that ever followed."
    : `${found.returns.length} most similar memories; the value is the mean of their returns, weighted.`;
  byId("memories").replaceChildren(...found.returns.map((value, i) => {
    const item = make("li");
    if (found.pictures[i]) {
      const picture = make("img");
      picture.loading = "lazy";
      picture.alt = `The memory stored at step ${found.steps[i]}`;
      picture.src = `picture/memory?${new URLSearchParams({ checkpoint: episode.query.checkpoint, slot: found.slots[i] })}`;
      item.append(picture);
    } else if (episode.note === "") {
      item.append(make("p", "older than the pictures kept", "lost soft small"));
    }
    const weight = make("div", undefined, "weight"), part = make("i");
    part.style.width = `${100 * found.weights[i]}%`;
    weight.append(part);
    const list = make("dl");
    const fact = (name, text, number) => {
      const data = make("dd", text);
      data.dataset[name] = number;
      list.append(make("dt", name), data);
    };
    fact("return", shown(value), value);
    fact("weight", percent(found.weights[i]), found.weights[i]);
    fact("distance", shown(found.distances[i], 3), found.distances[i]);
    fact("step", found.steps[i].toLocaleString("en"), found.steps[i]);
    for (const [count, reward, ended] of found.outcomes[i]?.slice(0, 4) ?? []) {
      fact("led to", `${count.toLocaleString("en")} × reward ${shown(reward)}${ended ? ", the end" : ""}`, count);
    }
    const more = (found.outcomes[i]?.length ?? 0) - 4;
    if (more > 0) fact("and", `${more} more outcomes`, more);
    item.append(weight, list);
    return item;
  }));
};

const play = async (newest) => {
  stop();
  const seed = byId("seed");
  if (!seed.checkValidity() || seed.value === "") { seed.reportValidity(); return; }
  byId("working").textContent = "Playing…";
  byId("play").disabled = true;
  const query = { seed: Number(seed.value), exploring: byId("exploring").value };
  try {
    const played = await ask("api/episode", newest ? { ...query, newest: 1 } : query);
    const another = episode.query?.checkpoint !== played.checkpoint;
    Object.assign(episode, { query: { ...query, checkpoint: played.checkpoint }, length: played.chosen.length, actions: played.actions, scores: played.scores, ending: played.ending, note: played.note });
    byId("episode").hidden = false;
    byId("picture").hidden = !played.drawn;
    byId("frames-note").hidden = played.note === "";
    byId("frames-note").textContent = played.note;
    byId("loaded").textContent = `checkpoint of step ${played.checkpoint.toLocaleString("en")} · ${played.entries.toLocaleString("en")} memories`;
    byId("moment").max = episode.length - 1;
    byId("working").textContent = `${(episode.length - 1).toLocaleString("en")} steps, score ${shown(played.scores.at(-1))}, ${played.ending}`;
    followsAgent = true;
    await moveTo(0);
    if (another) window.showMap(await ask("api/map", { checkpoint: played.checkpoint }));
  } catch (error) {
    byId("working").textContent = error.message;
  }
  byId("play").disabled = false;
  offerNewer(latest);
};

const stop = () => {
  window.clearInterval(timer);
  timer = null;
  byId("run").textContent = "▶ play";
};
const offerNewer = (run) => {
  const mine = episode.query?.checkpoint;
  byId("newer").hidden = !run || mine === undefined || run.checkpoint === null || run.checkpoint <= mine;
};
byId("play").addEventListener("click", () => play(!episode.query));
byId("newer").addEventListener("click", () => play(true));
byId("first").addEventListener("click", () => moveTo(0));
byId("back").addEventListener("click", () => moveTo(at - 1));
byId("next").addEventListener("click", () => moveTo(at + 1));
byId("last").addEventListener("click", () => moveTo(episode.length - 1));
byId("moment").addEventListener("input", (event) => moveTo(Number(event.target.value)));
byId("run").addEventListener("click", () => {
  if (timer) { stop(); return; }
  if (at >= episode.length - 1) moveTo(0);
  byId("run").textContent = "‖ pause";
  timer = window.setInterval(() => (at >= episode.length - 1 ? stop() : moveTo(at + 1)), 350);
});
document.addEventListener("run", (event) => offerNewer(event.detail));
document.addEventListener("keydown", (event) => {
  if (!episode.query || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, summary")) return;
  const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: episode.length - 1 };
  if (event.key in moves) {
    event.preventDefault();
    moveTo(moves[event.key]);
  } else if (/^[1-9]$/.test(event.key)) {
    byId("actions").children[Number(event.key) - 1]?.click();
  }
});
