// Small things that every part of the page uses.

/** Run `work` whenever asked, one at a time; requests that come meanwhile are answered once. */
export function latest(work) {
  let wanted = false, busy = false;
  return async () => {
    wanted = true;
    if (busy) return;
    busy = true;
    try {
      while (wanted) { wanted = false; await work(); }
    } finally { busy = false; }
  };
}

/** A new element with properties and children. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value; else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

let known = null;

/** The colours of the current theme, by the names of the style sheet's variables. */
export function colours() {
  if (known) return known;
  const style = getComputedStyle(document.documentElement);
  const names = ["page", "card", "ink", "soft", "line", "accent", "warm", "known", "unknown", "track"];
  known = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return known;
}

/** The theme has changed. */
export function forgetColours() { known = null; }

/** "#rrggbb" as three numbers. */
export const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** A canvas as large as it is shown, in sharp pixels; its context draws in CSS pixels. */
export function sharp(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** A number for people: three digits. */
export function short(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace("-", "−");
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toFixed(digits).replace("-", "−");
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** Call `step(seconds)` at every frame while the button is pressed; one such at a time. */
export function playing(button, step) {
  button.addEventListener("click", () => {
    const start = button.getAttribute("aria-pressed") !== "true";
    for (const other of document.querySelectorAll('.play[aria-pressed="true"]')) {
      other.setAttribute("aria-pressed", "false");
    }
    if (!start) return;
    button.setAttribute("aria-pressed", "true");
    let before = null;
    const frame = (now) => {
      if (button.getAttribute("aria-pressed") !== "true") return;
      step(before === null ? 0 : Math.min(0.1, (now - before) / 1000));
      before = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}

export function stopPlaying() {
  for (const button of document.querySelectorAll('.play[aria-pressed="true"]')) {
    button.setAttribute("aria-pressed", "false");
  }
}
