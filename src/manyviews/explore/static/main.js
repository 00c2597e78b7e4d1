// The page: one position in the latent space, and everything that shows it.

import { Dimensions } from "./dimensions.js";
import { describeSample, LatentMap } from "./map.js";
import { makePicture } from "./pictures.js";
import { TimeWalk } from "./time.js";
import { colours, forgetColours, latest, make, short, stopPlaying } from "./tools.js";

const find = (id) => document.getElementById(id);

async function ask(path, content) {
  const options = content && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) };
  const answer = await fetch(path, options);
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || answer.statusText);
  return answer;
}
async function numbers(path, content) { return (await ask(path, content)).arrayBuffer(); }

function complain(error) {
  console.error(error);
  find("problem").hidden = false;
  find("problem").textContent = error instanceof TypeError ? "The server does not answer: is it still running?" : error.message;
}
const guarded = (work) => async () => {
  try { await work(); find("problem").hidden = true; } catch (error) { complain(error); }
};

const [model, points] = await Promise.all([
  ask("model").then((answer) => answer.json()),
  numbers("points").then((content) => new Float32Array(content)),
]).catch((error) => { complain(error); throw error; });
const n = model.ranges.length;
const state = { position: Array.from(points.subarray(model.start * n, model.start * n + n)), axes: [...model.axes], sample: null, held: false };
const pictures = model.views.map((view) => makePicture(view, find("views")));

// ------------------------------------------------------------------ asking the model

let moved = null; // when the pointer asked for what is about to be drawn

const generate = latest(guarded(async () => {
  const since = moved ?? performance.now();
  moved = null;
  const content = new Float32Array(await numbers("generate", { position: state.position, uncertain: find("uncertain").checked }));
  let at = 0;
  model.views.forEach((view, k) => {
    pictures[k].show(content.subarray(at, at + view.n), content.subarray(at + view.n, at + 2 * view.n));
    at += 2 * view.n;
  });
  document.body.dataset.drawn = Number(document.body.dataset.drawn || 0) + 1;
  requestAnimationFrame(() => setTimeout(() => {
    performance.measure("move to paint", { start: since });
    performance.clearMeasures("move to paint"); // observers have it
  }));
}));

const shade = latest(guarded(async () => {
  map.shades = new Uint8Array(await numbers("background", { position: state.position, axes: state.axes }));
  map.redraw();
}));

// ------------------------------------------------------------------ moving

let settled = null;

function show() {
  map.axes = state.axes;
  map.show(state);
  dimensions.show(state);
  clearTimeout(settled);
  settled = setTimeout(() => {
    const where = [...new Set(state.axes)].map((axis) => `dimension ${model.dimensions[axis]} = ${short(state.position[axis])}`).join(",  ");
    find("status").textContent = `${where}.  ${state.held ? "Held: click to go on." : ""}`;
  }, 150);
}

function moveTo(changes, event) {
  moved ??= event ? event.timeStamp : performance.now();
  let beside = false;
  for (const [dimension, value] of changes) {
    beside ||= !state.axes.includes(dimension) && state.position[dimension] !== value;
    state.position[dimension] = value;
  }
  show();
  generate();
  if (beside) shade();
}

function hold(held) { state.held = held; show(); }

const map = new LatentMap(find("map"), model, points, {
  move: (x, y, event) => moveTo([[state.axes[0], x], [state.axes[1], y]], event),
  pick,
  hold: (held) => { stopPlaying(); hold(held); },
  escape: () => { letGo(); hold(false); },
});
const dimensions = new Dimensions(find("groups"), model, (dimension, value, event) => {
  if (event) stopPlaying();
  state.held = true;
  moveTo([[dimension, value]], event);
});
const jump = (position) => moveTo(position.map((value, dimension) => [dimension, value]), null);
new TimeWalk(model, points, (position) => { state.held = true; jump(position); }, (samples) => { map.path = samples; map.redraw(); });

async function pick(sample) {
  stopPlaying();
  Object.assign(state, { sample, held: true });
  jump(Array.from(points.subarray(sample * n, sample * n + n)));
  const name = describeSample(model, sample);
  find("chip").hidden = false;
  find("chip-text").textContent = name;
  await guarded(async () => {
    const content = new Float32Array(await numbers(`samples/${sample}`));
    if (state.sample !== sample) return;
    let at = 0;
    model.views.forEach((view, k) => { pictures[k].compare(content.subarray(at, at + view.n), name); at += view.n; });
  })();
}

function letGo() {
  state.sample = null;
  find("chip").hidden = true;
  for (const picture of pictures) picture.compare(null, "");
  show();
}

// ------------------------------------------------------------------ controls around

["across", "up"].forEach((id, k) => {
  const choice = find(id);
  for (const { title, dimensions: own } of model.groups) {
    choice.append(make("optgroup", { label: title }, ...own.map((q) => make("option", { value: q }, `dimension ${model.dimensions[q]}`))));
  }
  choice.value = state.axes[k];
  choice.addEventListener("change", () => {
    const chosen = Number(choice.value);
    if (state.axes[1 - k] === chosen) find(["up", "across"][k]).value = state.axes[1 - k] = state.axes[k];
    state.axes[k] = chosen;
    show();
    shade();
  });
});
find("uncertain").addEventListener("change", generate);
find("chip-clear").addEventListener("click", () => { letGo(); hold(false); });
find("reset").addEventListener("click", () => {
  stopPlaying();
  letGo();
  state.held = false;
  jump(Array.from(points.subarray(model.start * n, model.start * n + n)));
});
find("theme").addEventListener("click", () => {
  const dark = colours().page === "#101318";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  repaint();
});

function legend() {
  const parent = find("legend"), labels = model.labels;
  if (labels?.title) parent.append(make("strong", {}, labels.title));
  if (labels?.scale) {
    const [low, high] = labels.scale.map((end) => typeof end === "string" ? end : short(end));
    parent.append(make("span", {}, low, make("i", { className: "ramp viridis" }), high));
  } else if (labels && labels.names.length <= 40) {
    labels.names.forEach((name, code) => {
      const swatch = make("i", { className: `swatch marker-${Math.floor(code / 10) % 5}` });
      swatch.style.background = labels.palette[code];
      parent.append(make("span", {}, swatch, name));
    });
  }
  parent.append(make("span", {}, "prediction sure", make("i", { className: "ramp known" }), "unsure"));
}

function repaint() {
  forgetColours();
  map.redraw();
  for (const picture of pictures) picture.draw();
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const off = model.groups.find(({ title }) => title === "Off")?.dimensions.length ?? 0;
find("summary").textContent = [model.model, plural(model.samples.length, "sample"), plural(model.views.length, "view"), `${n - off} of ${plural(n, "dimension")} in use`].join(" · ");
find("views").style.setProperty("--least", model.views.length > 6 ? "15rem" : "21rem");
legend();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
new ResizeObserver(repaint).observe(find("map"));
new ResizeObserver(() => pictures.forEach((picture) => picture.draw())).observe(find("views"));
show();
map.redraw();
shade();
generate();
