// For models with time stamps: walk along the samples of a sequence.

import { make, playing, short } from "./tools.js";

const SECONDS = 12; // for a whole sequence

export class TimeWalk {
  /** `jump(position)` moves all dimensions at once; `draw(samples)` shows the path. */
  constructor(model, points, jump, draw) {
    Object.assign(this, { model, points, jump });
    if (!model.paths.length) return;
    const find = (id) => document.getElementById(id);
    find("time").hidden = false;
    this.slider = find("time-slider");
    this.value = find("time-value");
    const choice = find("time-sequence");
    choice.hidden = model.paths.length < 2;
    model.paths.forEach(({ name }, k) => choice.append(make("option", { value: k }, name)));
    const choose = () => {
      this.path = model.paths[choice.value || 0];
      this.slider.max = this.path.samples.length - 1;
      this.slider.value = 0;
      draw(this.path.samples);
    };
    choice.addEventListener("change", () => { choose(); this.go(0); });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    playing(find("time-play"), (seconds) => {
      const last = this.path.samples.length - 1;
      const next = Number(this.slider.value) + seconds * last / SECONDS;
      this.slider.value = next > last ? 0 : next;
      this.go(Number(this.slider.value));
    });
    choose();
    this.value.textContent = short(this.path.times[0]);
  }
  go(place) {
    const { samples, times } = this.path, before = Math.floor(place), after = Math.min(before + 1, samples.length - 1);
    const share = place - before, n = this.model.ranges.length;
    const mix = (a, b) => a + share * (b - a);
    this.value.textContent = short(mix(times[before], times[after]));
    this.jump(Array.from({ length: n }, (_, q) => mix(this.points[samples[before] * n + q], this.points[samples[after] * n + q])));
  }
}
