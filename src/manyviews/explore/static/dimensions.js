// A slider per latent dimension, grouped by who uses it, with its relevance for each view.

import { make, playing, short } from "./tools.js";

const SECONDS = 7; // of a traversal, there and back
const MOST_METERS = 6;

export class Dimensions {
  /** `move(dimension, value, event)` */
  constructor(parent, model, move) {
    this.model = model;
    this.rows = [];
    const longest = Math.max(...model.views.map(({ name }) => name.length));
    parent.style.setProperty("--name", model.views.length > 1 ? `${Math.min(longest, 16) * 0.92 + 0.5}ch` : "4.2rem");
    const widest = Math.max(...model.dimensions.map((name) => name.length));
    parent.style.setProperty("--label", `${Math.min(widest, 14) * 0.95 + 2}ch`);
    for (const group of model.groups) parent.append(this.group(group, move));
  }
  group({ title, dimensions }, move) {
    const off = title === "Off";
    const rows = dimensions.map((dimension) => this.row(dimension, move, off));
    if (off) return make("details", { className: "group" }, make("summary", { className: "title" }, `Off (${rows.length})`), ...rows);
    return make("fieldset", { className: "group" }, make("legend", { className: "title" }, title), ...rows);
  }
  row(dimension, move, off) {
    const [low, high] = this.model.ranges[dimension], id = `dimension-${dimension}`;
    const mark = make("i");
    const name = this.model.dimensions[dimension];
    const label = make("label", { htmlFor: id, title: `dimension ${name}` }, make("span", {}, name), mark);
    const slider = make("input", { id, type: "range", min: low, max: high, step: "any", "aria-label": `dimension ${name}` });
    const value = make("output", { htmlFor: id });
    const play = make("button", { type: "button", className: "play", "aria-pressed": "false", "aria-label": `Play along dimension ${name}` });
    slider.addEventListener("input", (event) => move(dimension, Number(slider.value), event));
    let phase = 0;
    playing(play, (seconds) => {
      if (seconds === 0) phase = Math.asin(Math.min(1, Math.max(-1, (2 * Number(slider.value) - low - high) / (high - low))));
      phase += 2 * Math.PI * seconds / SECONDS;
      move(dimension, (low + high + (high - low) * Math.sin(phase)) / 2, null);
    });
    this.rows[dimension] = { slider, value, mark };
    return make("div", { className: "dimension" }, label, slider, value, play, ...(off ? [] : [this.meters(dimension)]));
  }
  meters(dimension) {
    const { views, relevance, threshold } = this.model;
    const own = views.map((view, k) => [view.name, relevance[k][dimension]]).filter(([, weight]) => weight > threshold);
    const meters = own.slice(0, MOST_METERS).map(([name, weight]) => {
      const bar = make("u");
      bar.style.width = `${100 * weight}%`;
      return make("span", { title: `relevance of dimension ${dimension} for ${name}: ${weight.toFixed(3)}` },
        make("b", {}, views.length > 1 ? name : "relevance"), make("i", {}, bar), make("em", {}, weight.toFixed(weight < 0.1 ? 3 : 2)));
    });
    if (own.length > MOST_METERS) meters.push(make("span", {}, `and ${own.length - MOST_METERS} more`));
    return make("div", { className: "meters" }, ...meters);
  }
  show({ position, axes }) {
    this.rows.forEach(({ slider, value, mark }, dimension) => {
      slider.value = position[dimension];
      value.textContent = short(position[dimension]);
      const text = (dimension === axes[0] ? "→" : "") + (dimension === axes[1] ? "↑" : "");
      if (mark.textContent !== text) mark.textContent = text;
    });
  }
}
