// The latent space: uncertainty, samples, and the place where we are.

import { channels, clamp, colours, sharp } from "./tools.js";

const NEAR = 11; // pixels within which a click means a sample
const PAD = { left: 46, right: 10, top: 10, bottom: 40 };

export class LatentMap {
  /** `on.move(x, y, event)`, `on.pick(sample)`, `on.hold(true or false)`, `on.escape()` */
  constructor(canvas, model, points, on) {
    Object.assign(this, { canvas, model, points, on });
    this.n = model.samples.length;
    this.q = model.ranges.length;
    this.axes = model.axes;
    this.position = null;
    this.sample = this.hovered = null;
    this.held = false;
    this.path = null;
    this.layer = document.createElement("canvas");
    this.listen();
  }
  at(sample, axis) { return this.points[sample * this.q + axis]; }
  std(sample, axis) { return this.points[(this.n + sample) * this.q + axis]; }

  // ---------------------------------------------------------------- geometry

  x(value) {
    const { left, right } = this.box, [low, high] = this.model.ranges[this.axes[0]];
    return left + (right - left) * (value - low) / (high - low);
  }
  y(value) {
    const { top, bottom } = this.box, [low, high] = this.model.ranges[this.axes[1]];
    return bottom - (bottom - top) * (value - low) / (high - low);
  }
  values(event) {
    const { left, right, top, bottom } = this.box, frame = this.canvas.getBoundingClientRect();
    const share = [(event.clientX - frame.left - left) / (right - left), (bottom - event.clientY + frame.top) / (bottom - top)];
    return this.axes.map((axis, k) => {
      const [low, high] = this.model.ranges[axis];
      return low + clamp(share[k], 0, 1) * (high - low);
    });
  }
  nearest(px, py, within) {
    let best = null, least = within * within;
    for (let sample = 0; sample < this.n; sample++) {
      const dx = this.x(this.at(sample, this.axes[0])) - px, dy = this.y(this.at(sample, this.axes[1])) - py;
      if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = sample; }
    }
    return best;
  }

  // ---------------------------------------------------------------- listening

  listen() {
    const { canvas, on } = this;
    const here = (event) => {
      const frame = canvas.getBoundingClientRect();
      return this.nearest(event.clientX - frame.left, event.clientY - frame.top, NEAR);
    };
    let pressed = null, dragged = false;
    canvas.addEventListener("pointerdown", (event) => {
      pressed = [event.clientX, event.clientY];
      dragged = false;
      if (event.pointerType !== "mouse") { canvas.setPointerCapture(event.pointerId); on.move(...this.values(event), event); }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) dragged = true;
      this.hovered = here(event);
      if (!this.held || (pressed && dragged)) on.move(...this.values(event), event);
      else this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!pressed) return;
      pressed = null;
      if (dragged) return;
      const sample = here(event);
      if (sample !== null) return on.pick(sample);
      if (event.pointerType !== "mouse") return;
      on.hold(!this.held);
      on.move(...this.values(event), event);
    });
    canvas.addEventListener("pointercancel", () => { pressed = null; });
    canvas.addEventListener("pointerleave", () => { this.hovered = null; this.draw(); });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }
  key(event) {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (direction) {
      const step = event.shiftKey ? 0.1 : 0.02;
      const there = this.axes.map((axis, k) => {
        const [low, high] = this.model.ranges[axis];
        return clamp(this.position[axis] + direction[k] * step * (high - low), low, high);
      });
      this.on.hold(true);
      this.on.move(...there, event);
    } else if (event.key === "Enter" || event.key === " ") {
      const sample = this.nearest(this.x(this.position[this.axes[0]]), this.y(this.position[this.axes[1]]), 1e9);
      if (sample !== null) this.on.pick(sample);
    } else if (event.key === "Escape") {
      this.on.escape();
    } else return;
    event.preventDefault();
  }

  // ---------------------------------------------------------------- drawing

  show(state) {
    Object.assign(this, { position: state.position, sample: state.sample, held: state.held });
    this.draw();
  }
  /** What does not change with the pointer goes into a layer of its own. */
  redraw() {
    const ink = this.ink = colours(), { width, height } = sharp(this.canvas);
    this.box = { left: PAD.left, right: width - PAD.right, top: PAD.top, bottom: height - PAD.bottom };
    const ratio = this.canvas.width / Math.max(width, 1), layer = this.layer;
    layer.width = this.canvas.width;
    layer.height = this.canvas.height;
    const context = layer.getContext("2d");
    context.scale(ratio, ratio);
    const { left, right, top, bottom } = this.box;
    context.fillStyle = ink.known;
    context.fillRect(left, top, right - left, bottom - top);
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    if (this.shades) this.fog(context, ink, left, right, top, bottom);
    if (this.path) this.track(context, ink);
    this.dots(context, ink);
    context.restore();
    this.ticks(context, ink, left, right, top, bottom);
    this.draw();
  }
  fog(context, ink, left, right, top, bottom) {
    const size = this.model.grid, known = channels(ink.known), unknown = channels(ink.unknown);
    const small = new OffscreenCanvas(size, size), brush = small.getContext("2d"), image = brush.createImageData(size, size);
    for (let row = 0; row < size; row++) {
      for (let column = 0; column < size; column++) {
        const share = this.shades[(size - 1 - row) * size + column] / 255, at = 4 * (row * size + column);
        for (let c = 0; c < 3; c++) image.data[at + c] = known[c] + share * (unknown[c] - known[c]);
        image.data[at + 3] = 255;
      }
    }
    brush.putImageData(image, 0, 0);
    const dx = (right - left) / (size - 1) / 2, dy = (bottom - top) / (size - 1) / 2; // values are at the corners
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    context.drawImage(small, left - dx, top - dy, right - left + 2 * dx, bottom - top + 2 * dy);
  }
  track(context, ink) {
    context.strokeStyle = ink.soft;
    context.lineWidth = 1;
    context.globalAlpha = 0.8;
    context.beginPath();
    for (const sample of this.path) context.lineTo(this.x(this.at(sample, this.axes[0])), this.y(this.at(sample, this.axes[1])));
    context.stroke();
    context.globalAlpha = 1;
  }
  dots(context, ink) {
    const labels = this.model.labels, radius = clamp(70 / Math.sqrt(this.n), 1.6, 5);
    context.lineWidth = 0.8;
    context.strokeStyle = ink.card;
    for (let sample = 0; sample < this.n; sample++) {
      const code = labels ? labels.codes[sample] : 0;
      context.fillStyle = labels ? labels.palette[code] : ink.accent;
      const kind = labels && !labels.scale ? Math.floor(code / 10) % 5 : 0;
      marker(context, this.x(this.at(sample, this.axes[0])), this.y(this.at(sample, this.axes[1])), radius, kind);
      context.fill();
      if (radius > 2) context.stroke();
    }
  }
  ticks(context, ink, left, right, top, bottom) {
    context.strokeStyle = ink.line;
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, top + 0.5, right - left - 1, bottom - top - 1);
    context.fillStyle = ink.soft;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    for (const [value, text] of round(...this.model.ranges[this.axes[0]])) context.fillText(text, this.x(value), bottom + 15);
    context.fillText(`dimension ${this.model.dimensions[this.axes[0]]}`, (left + right) / 2, bottom + 33);
    context.textAlign = "right";
    for (const [value, text] of round(...this.model.ranges[this.axes[1]])) context.fillText(text, left - 6, this.y(value) + 4);
    context.save();
    context.translate(12, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(`dimension ${this.model.dimensions[this.axes[1]]}`, 0, 0);
    context.restore();
  }
  draw() {
    if (!this.position || !this.ink || !this.layer.width || !this.layer.height) return; // not laid out yet
    const { context, width, height } = sharp(this.canvas), ink = this.ink;
    context.drawImage(this.layer, 0, 0, width, height);
    const [x, y] = [this.x(this.position[this.axes[0]]), this.y(this.position[this.axes[1]])];
    const { left, right, top, bottom } = this.box;
    context.strokeStyle = ink.ink;
    context.globalAlpha = 0.35;
    context.setLineDash([3, 4]);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(left, y); context.lineTo(right, y);
    context.moveTo(x, top); context.lineTo(x, bottom);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    if (this.sample !== null) this.ellipse(context, this.sample, ink.warm);
    for (const [radius, colour, line] of [[9, ink.card, 5], [9, this.sample !== null ? ink.warm : ink.ink, 2.2]]) {
      context.strokeStyle = colour;
      context.lineWidth = line;
      context.beginPath();
      context.arc(x, y, radius, 0, 7);
      context.stroke();
    }
    if (this.held) {
      context.fillStyle = this.sample !== null ? ink.warm : ink.ink;
      context.beginPath();
      context.arc(x, y, 2.4, 0, 7);
      context.fill();
    }
    if (this.hovered !== null) this.tip(context, ink, this.hovered, right);
  }
  /** One standard deviation around a sample's position. */
  ellipse(context, sample, colour) {
    const [i, j] = this.axes, [mx, my] = [this.at(sample, i), this.at(sample, j)];
    context.strokeStyle = colour;
    context.lineWidth = 1.2;
    context.beginPath();
    context.ellipse(this.x(mx), this.y(my), Math.abs(this.x(mx + this.std(sample, i)) - this.x(mx)),
      Math.abs(this.y(my + this.std(sample, j)) - this.y(my)), 0, 0, 7);
    context.stroke();
  }
  tip(context, ink, sample, right) {
    const text = describeSample(this.model, sample);
    context.font = "12px system-ui, sans-serif";
    const width = context.measureText(text).width + 14;
    let [x, y] = [this.x(this.at(sample, this.axes[0])) + 14, this.y(this.at(sample, this.axes[1])) - 30];
    if (x + width > right) x -= width + 28;
    if (y < PAD.top) y += 44;
    context.fillStyle = ink.ink;
    context.beginPath();
    context.roundRect(x, y, width, 22, 5);
    context.fill();
    context.fillStyle = ink.card;
    context.textAlign = "left";
    context.fillText(text, x + 7, y + 15);
  }
}

/** "sample 17 · class 3" */
export function describeSample(model, sample) {
  const labels = model.labels, name = `sample ${model.samples[sample]}`;
  if (!labels) return name;
  return `${name} · ${labels.scale ? labels.texts[sample] : labels.names[labels.codes[sample]]}`;
}

function marker(context, x, y, r, kind) {
  const corners = [null, [[-1, -1], [1, -1], [1, 1], [-1, 1]], [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    [[0, -1.2], [1.2, 1], [-1.2, 1]], [[0, 1.2], [1.2, -1], [-1.2, -1]]][kind];
  context.beginPath();
  if (!corners) return context.arc(x, y, r, 0, 7);
  for (const [dx, dy] of corners) context.lineTo(x + 0.9 * r * dx, y + 0.9 * r * dy);
  context.closePath();
}

/** About five round numbers of a range, and how they are written. */
function round(low, high) {
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const digits = clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 6), found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push([k * step, (k * step).toFixed(digits).replace("-", "−")]);
  return found;
}
