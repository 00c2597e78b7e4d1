// One picture per view: image, skeleton, curve or bars, each with its uncertainty.

import { clamp, colours, make, sharp, short } from "./tools.js";

const STD_STOPS = [[0, 0, 4], [87, 16, 110], [188, 55, 84], [249, 142, 9], [252, 255, 164]];
const STD_RAMP = Uint8ClampedArray.from({ length: 256 * 3 }, (_, place) => {
  const at = Math.floor(place / 3) / 255 * 4, step = Math.min(3, Math.floor(at)), channel = place % 3;
  return STD_STOPS[step][channel] + (at - step) * (STD_STOPS[step + 1][channel] - STD_STOPS[step][channel]);
});

/** The card of a view; `show(mean, std)` draws, `compare(values or null)` adds a sample. */
export function makePicture(view, parent) {
  const kinds = { image: Image, skeleton: Skeleton, curve: Curve, bars: Bars };
  return new kinds[view.kind](view, parent);
}

class Picture {
  constructor(view, parent) {
    this.view = view;
    this.figures = make("div", { className: `figures ${view.kind}` });
    const title = make("h3", {}, view.name, " ", make("small", {}, this.describe()));
    parent.append(make("article", { className: "card view" }, title, this.figures));
    this.real = null;
  }
  figure(caption) {
    const canvas = make("canvas", { role: "img", "aria-label": `${this.view.name}: ${caption}` });
    const text = make("figcaption", {}, caption);
    const figure = make("figure", {}, canvas, text);
    this.figures.append(figure);
    return { canvas, figure, text };
  }
  show(mean, std) { this.mean = mean; this.std = std; this.draw(); }
  compare(values, name) { this.real = values; this.realName = name; this.draw(); }
  draw() { if (this.mean) this.paint(colours()); }
}

class Image extends Picture {
  constructor(view, parent) {
    super(view, parent);
    this.panels = { mean: this.figure("generated"), std: this.figure("uncertainty (std)"), real: this.figure("sample") };
    this.panels.mean.text.append(legend("grey", short(view.low), short(view.high)));
    this.average = make("span");
    this.panels.std.text.append(legend("std", short(view.noise), short(view.spread)), this.average);
    const [height, width] = view.shape;
    for (const { canvas } of Object.values(this.panels)) {
      canvas.width = width;
      canvas.height = height;
      canvas.style.aspectRatio = `${width} / ${height}`;
      canvas.classList.toggle("pixelated", width < 128);
    }
  }
  describe() { return this.view.shape.slice(0, 2).join(" × ") + " pixels"; }
  paint() {
    const { low, high, noise, spread } = this.view;
    this.fill(this.panels.mean.canvas, this.mean, low, high);
    this.fill(this.panels.std.canvas, this.std, noise, spread, STD_RAMP);
    this.average.textContent = `mean ${short(this.std.reduce((sum, value) => sum + value, 0) / this.std.length)}`;
    this.panels.real.figure.hidden = !this.real;
    if (!this.real) return;
    this.fill(this.panels.real.canvas, this.real, low, high);
    this.panels.real.text.textContent = this.real.every(Number.isNaN) ? `${this.realName}: not observed` : this.realName;
  }
  fill(canvas, values, low, high, ramp = null) {
    const context = canvas.getContext("2d"), [height, width, depth = 1] = this.view.shape;
    const image = context.createImageData(width, height), out = image.data;
    const scale = 255 / Math.max(high - low, 1e-300);
    for (let pixel = 0, at = 0; pixel < width * height; pixel++, at += 4) {
      let known = true;
      if (ramp) {
        let total = 0;
        for (let c = 0; c < depth; c++) total += values[pixel * depth + c];
        const share = clamp((total / depth - low) / Math.max(high - low, 1e-300), 0, 1);
        const shade = 3 * Math.round(255 * Math.sqrt(share)); // small differences are what there is to see
        for (let c = 0; c < 3; c++) out[at + c] = ramp[shade + c];
      } else {
        for (let c = 0; c < 3; c++) {
          const value = values[pixel * depth + (depth === 3 ? c : 0)];
          known &&= value === value;
          out[at + c] = (value - low) * scale;
        }
      }
      out[at + 3] = known ? 255 : 0;
    }
    context.putImageData(image, 0, 0);
  }
}

function legend(ramp, low, high) {
  return make("span", { className: "ends" }, `${low} `, make("i", { className: `ramp ${ramp}` }), ` ${high}`);
}

class Skeleton extends Picture {
  constructor(view, parent) {
    super(view, parent);
    this.panels = [this.figure("generated; drag to turn, circles are ± 1 std"), this.figure("sample")];
    this.yaw = 0.55;
    this.pitch = 0.12;
    this.orient();
    for (const { canvas } of this.panels) this.turning(canvas);
  }
  describe() { return `${this.view.shape[0]} joints`; }
  /** Up is where the body is longest, away from zero; the axis it moves along more goes sideways. */
  orient() {
    const { centres, lows, highs } = this.view, axes = [0, 1, 2];
    const along = (values, axis) => values.filter((_, place) => place % 3 === axis);
    const extent = (axis) => Math.max(...along(centres, axis)) - Math.min(...along(centres, axis));
    const reach = (axis) => [Math.min(...along(lows, axis)), Math.max(...along(highs, axis))];
    const up = axes.reduce((best, axis) => (extent(axis) > extent(best) ? axis : best), 0);
    const rest = axes.filter((axis) => axis !== up);
    const width = (axis) => reach(axis)[1] - reach(axis)[0];
    const [side, depth] = width(rest[0]) >= width(rest[1]) ? rest : [rest[1], rest[0]];
    const upright = reach(up)[1] <= 0.1 * width(up) && reach(up)[0] < 0 ? -1 : 1;
    this.axes = { side, up, depth, sideSign: upright, upSign: upright };
    this.middle = axes.map((axis) => (reach(axis)[0] + reach(axis)[1]) / 2);
    this.radius = Math.max(width(up) / 2, Math.hypot(width(side), width(depth)) / 2, 1e-9);
    this.ground = upright > 0 ? reach(up)[0] : reach(up)[1];
  }
  turning(canvas) {
    canvas.tabIndex = 0;
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      this.turn((event.clientX - from[0]) / 90, (event.clientY - from[1]) / 120);
      from = [event.clientX, event.clientY];
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { from = null; });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (!step) return;
      event.preventDefault();
      this.turn(...step);
    });
  }
  turn(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = clamp(this.pitch + pitch, -1.5, 1.5);
    this.draw();
  }
  paint(ink) {
    this.stick(this.panels[0].canvas, this.mean, this.std, ink.accent, ink);
    this.panels[1].figure.hidden = !this.real;
    if (!this.real) return;
    this.panels[1].text.textContent = this.real.some(Number.isNaN) ? `${this.realName}: not observed` : this.realName;
    this.stick(this.panels[1].canvas, this.real, null, ink.warm, ink);
  }
  stick(canvas, values, std, colour, ink) {
    const { context, width, height } = sharp(canvas), { side, up, depth, sideSign, upSign } = this.axes;
    const zoom = 0.46 * Math.min(width, height * 1.05) / this.radius;
    const [cosYaw, sinYaw, cosPitch, sinPitch] = [Math.cos(this.yaw), Math.sin(this.yaw), Math.cos(this.pitch), Math.sin(this.pitch)];
    const project = (point) => {
      const s = sideSign * (point[side] - this.middle[side]), u = upSign * (point[up] - this.middle[up]), d = point[depth] - this.middle[depth];
      const x = s * cosYaw + d * sinYaw, back = d * cosYaw - s * sinYaw;
      return [width / 2 + zoom * x, height / 2 - zoom * (u * cosPitch + back * sinPitch), back * cosPitch - u * sinPitch];
    };
    const floor = [...this.middle];
    floor[up] = this.ground;
    const [fx, fy] = project(floor);
    context.fillStyle = ink.track;
    context.beginPath();
    context.ellipse(fx, fy, zoom * this.radius * 0.62, Math.max(2, zoom * this.radius * 0.62 * Math.abs(sinPitch)), 0, 0, 7);
    context.fill();
    const joints = Array.from({ length: this.view.shape[0] }, (_, j) => project(values.subarray(3 * j, 3 * j + 3)));
    if (std) {
      context.fillStyle = colour;
      context.globalAlpha = 0.13;
      joints.forEach(([x, y], j) => {
        const spread = (std[3 * j] + std[3 * j + 1] + std[3 * j + 2]) / 3;
        context.beginPath();
        context.arc(x, y, Math.min(zoom * spread, height), 0, 7);
        context.fill();
      });
    }
    const shade = (back) => clamp(0.78 - 0.5 * back / this.radius, 0.35, 1);
    context.lineCap = "round";
    context.strokeStyle = context.fillStyle = colour;
    const bones = this.view.bones.map(([a, b]) => [joints[a], joints[b], (joints[a][2] + joints[b][2]) / 2]);
    for (const [a, b, back] of bones.sort((p, q) => q[2] - p[2])) {
      context.globalAlpha = shade(back);
      context.lineWidth = 4;
      context.beginPath();
      context.moveTo(a[0], a[1]);
      context.lineTo(b[0], b[1]);
      context.stroke();
    }
    for (const [x, y, back] of joints) {
      context.globalAlpha = shade(back);
      context.beginPath();
      context.arc(x, y, 3.2, 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
  }
}

class Curve extends Picture {
  constructor(view, parent) {
    super(view, parent);
    this.panel = this.figure("generated, band ± 2 std");
  }
  describe() { return `${this.view.n} columns`; }
  paint(ink) {
    const { context, width, height } = sharp(this.panel.canvas), { low, high, n, names } = this.view;
    const [left, right, top, bottom] = [44, width - 8, 8, height - 22];
    const room = 0.06 * Math.max(high - low, 1e-9);
    const x = (place) => left + (right - left) * (n > 1 ? place / (n - 1) : 0.5);
    const y = (value) => bottom - (bottom - top) * (value - low + room) / (high - low + 2 * room);
    frame(context, ink, left, right, top, bottom);
    context.textAlign = "right";
    for (const value of [low, (low + high) / 2, high]) context.fillText(short(value), left - 6, y(value) + 4);
    context.textAlign = "left";
    context.fillText(names[0], left, height - 6);
    context.textAlign = "right";
    context.fillText(names[n - 1], right, height - 6);
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    context.fillStyle = ink.accent;
    context.globalAlpha = 0.18;
    context.beginPath();
    for (let d = 0; d < n; d++) context.lineTo(x(d), y(this.mean[d] + 2 * this.std[d]));
    for (let d = n - 1; d >= 0; d--) context.lineTo(x(d), y(this.mean[d] - 2 * this.std[d]));
    context.fill();
    context.globalAlpha = 1;
    if (this.real) this.line(context, this.real, x, y, ink.warm, 1.4);
    this.line(context, this.mean, x, y, ink.accent, 2);
    context.restore();
    note(this, "generated, band ± 2 std", "—");
  }
  line(context, values, x, y, colour, width) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    let pen = false;
    for (let d = 0; d < values.length; d++) {
      if (Number.isNaN(values[d])) { pen = false; continue; }
      context[pen ? "lineTo" : "moveTo"](x(d), y(values[d]));
      pen = true;
    }
    context.stroke();
  }
}

class Bars extends Picture {
  constructor(view, parent) {
    super(view, parent);
    this.panel = this.figure("");
    this.panel.canvas.style.height = `${24 * view.n + 6}px`;
  }
  describe() {
    const { n, of } = this.view;
    return n < of ? `the ${n} of ${of} columns that move most` : `${n} column${n > 1 ? "s" : ""}`;
  }
  paint(ink) {
    const { context, width } = sharp(this.panel.canvas), { n, names, lows, highs, centres } = this.view;
    const left = Math.min(130, width * 0.3), right = width - 104;
    context.font = "12px system-ui, sans-serif";
    for (let d = 0; d < n; d++) {
      const middle = 24 * d + 15, span = Math.max(highs[d] - lows[d], 1e-12), room = 0.08 * span;
      const x = (value) => clamp(left + (right - left) * (value - lows[d] + room) / (span + 2 * room), left, right);
      context.fillStyle = ink.track;
      context.fillRect(left, middle - 5, right - left, 10);
      context.fillStyle = ink.accent;
      const [from, to] = [x(centres[d]), x(this.mean[d])];
      context.globalAlpha = 0.85;
      context.fillRect(Math.min(from, to), middle - 5, Math.max(1.5, Math.abs(to - from)), 10);
      context.globalAlpha = 1;
      context.strokeStyle = ink.ink;
      context.lineWidth = 1.3;
      const [a, b] = [x(this.mean[d] - 2 * this.std[d]), x(this.mean[d] + 2 * this.std[d])];
      context.beginPath();
      for (const [p, q, r, s] of [[a, middle, b, middle], [a, middle - 3, a, middle + 3], [b, middle - 3, b, middle + 3]]) {
        context.moveTo(p, q);
        context.lineTo(r, s);
      }
      context.stroke();
      if (this.real && !Number.isNaN(this.real[d])) diamond(context, x(this.real[d]), middle, ink);
      context.fillStyle = ink.ink;
      context.textAlign = "right";
      context.fillText(fitted(context, names[d], left - 8), left - 8, middle + 4);
      context.textAlign = "left";
      context.fillText(`${short(this.mean[d])} ± ${short(2 * this.std[d])}`, right + 8, middle + 4);
    }
    note(this, "from the training mean, over the training range; whiskers ± 2 std", "◆");
  }
}

function diamond(context, x, y, ink) {
  context.fillStyle = ink.warm;
  context.strokeStyle = ink.card;
  context.beginPath();
  for (const [dx, dy] of [[0, -6], [6, 0], [0, 6], [-6, 0]]) context.lineTo(x + dx, y + dy);
  context.closePath();
  context.fill();
  context.stroke();
}

function note(picture, text, mark) {
  const missing = picture.real && picture.real.every(Number.isNaN);
  const extra = picture.real ? `${missing ? "" : mark + " "}${picture.realName}${missing ? ": not observed" : ""}` : "";
  if (picture.noted === text + extra) return;
  picture.noted = text + extra;
  picture.panel.text.replaceChildren(text);
  if (extra) picture.panel.text.append(make("span", { className: "real" }, extra));
}

function frame(context, ink, left, right, top, bottom) {
  context.font = "12px system-ui, sans-serif";
  context.strokeStyle = ink.line;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, top + 0.5, right - left, bottom - top);
  context.fillStyle = ink.soft;
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let short = text;
  while (short.length > 1 && context.measureText(short + "…").width > width) short = short.slice(0, -1);
  return short + "…";
}
