"use strict";
const $ = (id) => document.getElementById(id);

function paragraph(text, kind = "p") {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}

// Fields follow the state, but for the one that is being typed in.
function set(id, value) {
  if (document.activeElement !== $(id)) $(id).value = value;
}

// A select's options, as [value, text].
function offer(select, options) {
  select.replaceChildren(...options.map(([value, text]) => {
    const option = paragraph(text, "option");
    option.value = value;
    return option;
  }));
}

// What is wrong with arguments: an answer of the core, and the text in which it has a position.
function mistake(answer, text) {
  const out = [paragraph(answer.error)];
  if (answer.position !== undefined) out.push(paragraph(text + "\n" + " ".repeat(answer.position) + "^", "pre"));
  return out;
}

// Drawing. Cells of one look are drawn once and copied. `noteOf` says of (line, panel, row, column)
// what there is to say.
const height = 18;
function draw(main, lines, noteOf) {
  while (main.children.length > lines.length) main.lastChild.remove();
  lines.forEach((panels, i) => {
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
        watch(figure.lastChild);
      }
      const [caption, canvas] = figure.children;
      caption.replaceChildren(paragraph(panel.title, "b"), document.createElement("br"), panel.description);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", panel.title + ". " + panel.description);
      canvas.tabIndex = 0;
      canvas.note = (row, column) => noteOf(i, j, row, column);
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

function watch(canvas) {
  let at = { row: 0, column: 0 };
  const say = (row, column) => {
    const grid = canvas.grid;
    if (row < 0 || column < 0 || row >= grid.rows || column >= grid.columns) return;
    at = { row, column };
    $("note").textContent = canvas.note(row, column) || "nothing here";
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
