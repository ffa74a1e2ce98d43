"use strict";
// The page around the core: what is shown follows from `state`, and so does the address.
const $ = (id) => document.getElementById(id);
const standard = "layout=Swizzle<3,2,6> o (64,64):(64,1)&bytes=4&access=rows:store:16&access=blocks:load:16";
// What people ask about: tiles of the ladder's rungs, and those of the case study.
const presets = {
  "smem_chunk_xor: 16 bytes on both sides": standard,
  "smem: a tile as it comes": "layout=(32,32):(32,1)&access=rows:store&access=columns:load",
  "smem_pad: rows of 33": "layout=(32,32):(33,1)&access=rows:store&access=columns:load",
  "cute_smem_swizzle: 32 x 32": "layout=Swizzle<5,0,5> o (32,32):(32,1)&access=rows:store&access=columns:load",
  "cute_smem_swizzle_2way: the same on 64 x 64": "layout=Swizzle<5,0,5> o (64,64):(64,1)&access=rows:store&access=columns:load",
  "cute_smem_swizzle_64": "layout=Swizzle<5,0,6> o (64,64):(64,1)&access=rows:store&access=columns:load",
  "case study: (32,16) plain": "layout=(32,16):(16,1)&access=columns:store",
  "case study: (32,16), B = 4, S = 4": "layout=Swizzle<4,0,4> o (32,16):(16,1)&access=columns:store",
  "case study: (32,16), B = 3, S = 3": "layout=Swizzle<3,0,3> o (32,16):(16,1)&access=columns:store",
  "case study: (32,16), S = 5": "layout=Swizzle<4,0,5> o (32,16):(16,1)&access=columns:store",
  "case study: halves, (8,64)": "layout=Swizzle<3,3,3> o (8,64):(64,1)&bytes=2&access=columns:load:16",
};
let state, answer, ask, noteOf, soon;
window.lab = { milliseconds: 0, ready: false };

for (const walk of ["rows", "columns", "blocks", "diagonal", "ldmatrix"])
  for (const op of ["load", "store"])
    for (const width of ["", ":4", ":8", ":16"])
      if (walk !== "ldmatrix" || (op === "load" && width === "")) {
        const option = document.createElement("option");
        option.value = walk === "ldmatrix" ? walk : `${walk}:${op}${width}`;
        $("accesses").append(option);
      }

for (const name of ["", ...Object.keys(presets)]) {
  const option = document.createElement("option");
  option.textContent = name;
  $("preset").append(option);
}

function parse(text) {
  const given = new URLSearchParams(text.replaceAll("+", "%2B"));
  const whole = (name, other) => (/^-?\d+$/.test(given.get(name) ?? "") ? Number(given.get(name)) : other);
  return {
    layout: given.get("layout") ?? "(32,32):(32,1)",
    bytes: whole("bytes", 4),
    accesses: given.getAll("access").concat("", "").slice(0, Math.max(2, given.getAll("access").length)),
    access: whole("show", 0),
    request: whole("request", -1),
    group: whole("group", -1),
  };
}

function address() {
  const put = [["layout", state.layout], ["bytes", state.bytes]];
  for (const access of state.accesses) if (access) put.push(["access", access]);
  if (state.access) put.push(["show", state.access]);
  if (state.request >= 0) put.push(["request", state.request]);
  if (state.group >= 0) put.push(["group", state.group]);
  return "#" + put.map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&");
}

function change(what, restart = true) {
  if (restart) Object.assign(state, { request: -1, group: -1 });
  Object.assign(state, what);
  show();
  history.replaceState(null, "", address());
}

function show() {
  const from = performance.now();
  const given = state.accesses.join("\n");
  const question = [state.layout, state.bytes, given, state.access, state.request, state.group];
  const next = JSON.parse(ask(...question, false));
  fill(next);
  verdict(next);
  if (!next.error) {
    answer = next;
    steps();
    draw();
  }
  window.lab.milliseconds = performance.now() - from;
  // A remedy takes longer to find than all the rest: it follows when changes pause.
  clearTimeout(soon);
  if (!next.error && !next.clean) soon = setTimeout(() => verdict(JSON.parse(ask(...question, true))), 100);
}

// Fields follow the state, but for the one that is being typed in.
function set(id, value) {
  if (document.activeElement !== $(id)) $(id).value = value;
}

function fill(next) {
  const same = (text) => JSON.stringify(parse(text)) === JSON.stringify(state);
  $("preset").value = Object.keys(presets).find((name) => same(presets[name])) ?? "";
  set("layout", state.layout);
  set("bytes", state.bytes);
  state.accesses.slice(0, 2).forEach((access, i) => set("access" + i, access));
  if (next.error) return;
  ["B", "M", "S"].forEach((id, i) => set(id, next.swizzle[i]));
  set("rows", next.rows);
  set("columns", next.columns);
  const plain = /^\((\d+),(\d+)\):\((\d+),1\)$/.exec(next.plain);
  set("padding", plain ? plain[3] - plain[2] : "");
}

function paragraph(text, kind = "p") {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}

function verdict(next) {
  const out = [];
  const box = $("verdict");
  $("apply").hidden = !next.remedyLayout;
  if (next.error) {
    box.className = "error";
    out.push(paragraph(next.error));
    if (next.position !== undefined)
      out.push(paragraph(state.layout + "\n" + " ".repeat(next.position) + "^", "pre"));
  } else {
    box.className = next.clean && !next.collision ? "clean" : "conflict";
    if (next.collision) out.push(paragraph("Not injective: " + next.collision + "."));
    for (const access of next.accesses) {
      out.push(paragraph(`${access.wavefronts === access.floor ? "✓" : "✗"} ${access.name}: ${access.verdict}${access.why ? "; " + access.why : ""}`));
    }
    if (next.remedy) out.push(paragraph("Remedy: " + next.remedy));
    if (next.remedyLayout) {
      $("apply").dataset.layout = next.remedyLayout;
      $("apply").textContent = "take " + next.remedyLayout;
    }
    let bytes = `${next.sharedBytes} B of shared memory; the pattern repeats after ${next.periodRows} row${next.periodRows === 1 ? "" : "s"}.`;
    if (next.slowdown) bytes += ` In a transposition on ${next.device}: ${Number(next.slowdown) > 1 ? Number(next.slowdown).toFixed(2) + " times the time of a plain copy" : "as fast as a plain copy"}, says the model.`;
    out.push(paragraph(bytes));
    if (next.swizzle[0] > 0) out.push(...next.period.filter((text) => text).map((text) => paragraph(text)));
  }
  box.replaceChildren(...out);
}

function steps() {
  const names = answer.accesses.map((access, i) => {
    const option = paragraph(access.name, "option");
    option.value = i;
    return option;
  });
  $("which").replaceChildren(...names);
  $("which").value = answer.access;
  const now = answer.accesses[answer.access];
  $("request").textContent = now ? `request ${answer.request} of ${now.requests.length}` : "no access";
  const groups = now ? now.requests[answer.request] : 0;
  $("group").textContent = answer.group < 0 ? "group: all" : `group ${answer.group + 1} of ${groups}`;
}

// Drawing. Cells of one look are drawn once and copied.
const height = 18;
function draw() {
  const main = $("picture");
  while (main.children.length > answer.lines.length) main.lastChild.remove();
  answer.lines.forEach((panels, i) => {
    let line = main.children[i];
    if (!line) {
      line = document.createElement("div");
      line.className = "line";
      main.append(line);
    }
    while (line.children.length > panels.length) line.lastChild.remove();
    panels.forEach((panel, j) => {
      let figure = line.children[j];
      if (!figure) {
        figure = document.createElement("figure");
        figure.append(document.createElement("figcaption"), document.createElement("canvas"));
        line.append(figure);
        watch(figure.lastChild, i, j);
      }
      const [caption, canvas] = figure.children;
      caption.replaceChildren(paragraph(panel.title, "b"), document.createElement("br"), panel.description);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", panel.title + ". " + panel.description);
      canvas.tabIndex = 0;
      paint(canvas, panel);
    });
  });
}

const longest = (texts) => texts.reduce((most, text) => Math.max(most, text.length), 0);
// What a cell looks like, as pixels.
const looks = new Map();
function pixels(width, scale, colour, label, mark) {
  const key = [width, scale, colour, label, mark].join("|");
  const known = looks.get(key);
  if (known) return known;
  if (looks.size > 4096) looks.clear();
  const wide = Math.round(width * scale), high = Math.round(height * scale);
  const g = new OffscreenCanvas(wide, high).getContext("2d", { willReadFrequently: true });
  g.scale(wide / width, high / height);
  g.fillStyle = colour ? `rgb(${colour.slice(0, 3)})` : "#fff";
  g.fillRect(0, 0, width, height);
  g.strokeStyle = colour ? "#fff" : "#ddd";
  g.strokeRect(0, 0, width, height);
  g.fillStyle = colour && colour[3] ? "#fff" : "#000";
  g.font = "11px monospace";
  g.textAlign = "center";
  if (mark !== "0") {
    // White beside the frame sets it off from every tone, also where colours look alike.
    g.strokeStyle = "#fff";
    g.lineWidth = 3.6;
    g.strokeRect(1, 1, width - 2, height - 2);
  }
  if (mark === "1") {
    g.strokeStyle = "#000";
    g.lineWidth = 2;
    g.strokeRect(1, 1, width - 2, height - 2);
  } else if (mark === "2") {
    g.strokeStyle = "#b00000";
    g.lineWidth = 2;
    g.strokeRect(1, 1, width - 2, height - 2);
    const fill = g.fillStyle;
    g.fillStyle = "#b00000";
    g.beginPath();
    g.moveTo(0, 0);
    g.lineTo(8, 0);
    g.lineTo(0, 8);
    g.fill();
    g.strokeStyle = "#fff";
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(8.5, 2);
    g.lineTo(2, 8.5);
    g.stroke();
    g.fillStyle = fill;
  }
  g.fillText(label, width / 2, 13);
  const image = new Uint32Array(g.getImageData(0, 0, wide, high).data.buffer);
  looks.set(key, image);
  return image;
}

function paint(canvas, panel) {
  const labels = panel.labels.split("|");
  const rows = panel.rowLabels.length, columns = panel.columnLabels.length;
  const width = 7 * Math.max(2, longest(labels), longest(panel.columnLabels)) + 6;
  const left = 7 * Math.max(longest(panel.rowLabels), panel.rowAxis.length) + 8;
  const numbered = longest(panel.columnLabels) > 0;
  const top = (numbered ? 16 : 2) + (panel.columnAxis ? 16 : 0);
  const scale = window.devicePixelRatio || 1;
  const dots = { x: Math.round(width * scale), y: Math.round(height * scale) };  // of a cell
  const x0 = Math.round(left * scale), y0 = Math.round(top * scale);
  const g = canvas.getContext("2d", { willReadFrequently: true });
  const frame = [width, left, top, scale, panel.rowAxis, panel.columnAxis, panel.rowLabels, panel.columnLabels].join();
  if (canvas.frame !== frame) {  // else only cells that have changed are drawn
    canvas.frame = frame;
    canvas.width = x0 + dots.x * columns + 2;
    canvas.height = y0 + dots.y * rows + 2;
    canvas.style.width = canvas.width / scale + "px";
    canvas.style.height = canvas.height / scale + "px";
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.fillStyle = "#fff";
    g.fillRect(0, 0, canvas.width, canvas.height);
    g.fillStyle = "#000";
    g.font = "11px monospace";
    g.textAlign = "center";
    if (numbered) panel.columnLabels.forEach((label, j) => g.fillText(label, left + (j + 0.5) * width, top - 5));
    g.textAlign = "left";
    g.fillText(panel.columnAxis, left, 11);
    g.textAlign = "right";
    g.fillText(panel.rowAxis, left - 6, top - 5);
    panel.rowLabels.forEach((label, i) => g.fillText(label, left - 6, top + i * height + 13));
    canvas.cells = [];
    canvas.image = new ImageData(Math.max(1, dots.x * columns), Math.max(1, dots.y * rows));
    canvas.words = new Uint32Array(canvas.image.data.buffer);
  }
  const pitch = dots.x * columns, words = canvas.words;
  for (let k = 0; k < rows * columns; ++k) {
    const tone = panel.tones[k];
    const look = labels[k] + panel.marks[k] + tone;
    if (canvas.cells[k] === look) continue;
    canvas.cells[k] = look;
    const from = pixels(width, scale, tone < 0 ? null : panel.colours[tone], labels[k], panel.marks[k]);
    let to = Math.floor(k / columns) * dots.y * pitch + (k % columns) * dots.x;
    for (let y = 0, at = 0; y < dots.y; ++y, to += pitch) {
      for (let x = 0; x < dots.x; ++x) words[to + x] = from[at++];
    }
  }
  g.putImageData(canvas.image, x0, y0);
  canvas.grid = { left, top, width, rows, columns };
}

function watch(canvas, line, panel) {
  let at = { row: 0, column: 0 };
  const say = (row, column) => {
    const grid = canvas.grid;
    if (row < 0 || column < 0 || row >= grid.rows || column >= grid.columns) return;
    at = { row, column };
    $("note").textContent = noteOf(line, panel, row, column) || "nothing here";
  };
  canvas.addEventListener("mousemove", (event) => {
    const grid = canvas.grid;
    say(Math.floor((event.offsetY - grid.top) / height), Math.floor((event.offsetX - grid.left) / grid.width));
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    say(at.row + step[0], at.column + step[1]);
  });
}

// The tile's and the swizzle's fields write the layout.
function compose() {
  const number = (id) => Number($(id).value) || 0;
  const plain = $("padding").value === "" ? answer.plain
    : `(${number("rows")},${number("columns")}):(${number("columns") + number("padding")},1)`;
  const swizzle = number("B") > 0 ? `Swizzle<${number("B")},${number("M")},${number("S")}> o ` : "";
  change({ layout: swizzle + plain });
}
for (const id of ["rows", "columns", "padding", "B", "M", "S"]) $(id).addEventListener("input", compose);
$("bytes").addEventListener("input", () => change({ bytes: Number($("bytes").value) }));
$("layout").addEventListener("input", () => change({ layout: $("layout").value }));
for (const i of [0, 1])
  $("access" + i).addEventListener("input", () => {
    state.accesses[i] = $("access" + i).value;
    change({});
  });
$("which").addEventListener("input", () => change({ access: Number($("which").value) }));
const step = (by) => {
  const count = answer.accesses[answer.access]?.requests.length;
  if (count) change({ request: (answer.request + by + count) % count }, false);
};
$("before").addEventListener("click", () => step(-1));
$("after").addEventListener("click", () => step(1));
$("group").addEventListener("click", () => {
  const groups = answer.accesses[answer.access]?.requests[answer.request];
  if (groups) change({ request: answer.request, group: answer.group + 1 < groups ? answer.group + 1 : -1 }, false);
});
$("apply").addEventListener("click", () => change({ layout: $("apply").dataset.layout }));
$("preset").addEventListener("input", () => {
  const chosen = presets[$("preset").value];
  if (chosen) change(parse(chosen));
});
// Takes the layout that removes the conflicts, and says so where there is none.
$("solve").addEventListener("click", () => {
  if (answer.clean) {
    $("note").textContent = "Nothing to solve: no access has a conflict.";
    return;
  }
  const found = JSON.parse(ask(state.layout, state.bytes, state.accesses.join("\n"), state.access, state.request, state.group, true));
  if (found.remedyLayout) change({ layout: found.remedyLayout });
  $("note").textContent = found.remedyLayout ? "Solved: " + found.remedyLayout : "No layout was found that removes these conflicts.";
});
const load = () => {
  state = parse(location.hash.slice(1) || start || standard);
  show();
};
makeCore().then((core) => {
  ask = core.cwrap("lab_answer", "string", ["string", "number", "string", "number", "number", "number", "boolean"]);
  noteOf = core.cwrap("lab_note", "string", ["number", "number", "number", "number"]);
  load();
  window.addEventListener("hashchange", load);
  window.lab.ready = true;
});
