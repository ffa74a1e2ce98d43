// The moving view: a 4 x 4 tile on its way from block (i, j) of the source to block (j, i) of the
// destination, element by element. Elements have 8 bytes, so that four of a row are one sector.
const side = 4;
const blockRows = 2, blockColumns = 3;
const wide = side * blockColumns, tall = side * blockRows;  // columns and rows of the source
const tints = ["#fde725", "#7ad151", "#22a884", "#8fb0e8"];  // of the tile's rows
const period = 700, glide = 450;  // milliseconds of a step, and of the motion in it
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const narrow = matchMedia("(max-width: 46rem)");

const move = (from, to, says) => ({ from, to, says });
// What happens, one move a step. A place is [panel, row, column]; null stands for the barrier.
function movesOf(way, i, j) {
  const moves = [];
  const source = (r, c) => ["source", side * i + r, side * j + c];
  const destination = (r, c) => ["destination", side * j + c, side * i + r];
  const square = [...Array(side * side).keys()];
  if (way === "direct") {
    for (const k of square) {
      const r = Math.floor(k / side), c = k % side;
      moves.push(move(source(r, c), destination(r, c), `Lane ${c} reads row ${side * i + r}, column ${side * j + c} of the source and writes it to row ${side * j + c}, column ${side * i + r} of the destination.`));
    }
    return moves;
  }
  for (const k of square) {
    const r = Math.floor(k / side), c = k % side;
    moves.push(move(source(r, c), ["tile", r, c], `Reading rows: lane ${c} takes row ${side * i + r}, column ${side * j + c} of the source and stores it at (${r}, ${c}) of the tile.`));
  }
  moves.push(move(null, null, "Barrier: the whole tile is in shared memory before anybody reads what another lane has stored."));
  for (const k of square) {
    const r = k % side, c = Math.floor(k / side);
    moves.push(move(["tile", r, c], destination(r, c), `Writing columns as rows: lane ${r} takes (${r}, ${c}), of column ${c} of the tile, and writes it to row ${side * j + c}, column ${side * i + r} of the destination.`));
  }
  return moves;
}

// Where the panels stand: beside each other, or the source above where there is no room.
const cell = 26;
function places() {
  const gap = 34, head = 40;
  if (!narrow.matches) {
    const middle = head + cell * (wide - side) / 2;
    return { source: [0, head + cell * (wide - tall) / 2], tile: [cell * wide + gap, middle], destination: [cell * (wide + side) + 2 * gap, head],
             size: [cell * (wide + side + tall) + 2 * gap, head + cell * wide] };
  }
  const below = 2 * head + cell * tall + 14;
  return { source: [gap / 2, head], tile: [0, below + cell * (wide - side) / 2], destination: [cell * side + gap, below],
           size: [cell * (side + tall) + gap, below + cell * wide] };
}

const svg = (kind, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const numberAt = ([panel, row, column], i, j) => {
  if (panel === "source") return row * wide + column;
  if (panel === "tile") return (side * i + row) * wide + side * j + column;
  return column * wide + row;
};
const tintAt = ([panel, row, column]) => tints[(panel === "destination" ? column : row) % side];

function element(at, origin, i, j, look) {
  const [x, y] = [origin[0] + cell * at[2], origin[1] + cell * at[1]];
  return svg("g", { class: "element " + look, "data-at": at },
    svg("rect", { x, y, width: cell, height: cell, fill: look === "other" || look === "empty" ? "none" : tintAt(at) }),
    svg("text", { x: x + cell / 2, y: y + cell / 2 + 4 }, look === "empty" ? "" : numberAt(at, i, j)));
}

let moves, movingElement, began, playing = false, gliding = false;

function block() {
  const [i, j] = state.block.split(",").map(Number);
  return i >= 0 && i < blockRows && j >= 0 && j < blockColumns && /^\d,\d$/.test(state.block) ? [i, j] : [0, 1];
}
const stepNow = () => Math.min(Math.max(state.step, 0), moves.length);

function counts(done, i, j) {
  const perRequest = (lanes) => JSON.parse(core.sectors(lanes, 8, 1)).sectors;
  const reads = moves.slice(0, done).filter((m) => m.from?.[0] === "source").length;
  const writes = moves.slice(0, done).filter((m) => m.to?.[0] === "destination").length;
  const of = (elements, sectors) => Math.ceil(elements / side) * sectors;
  const column = `${side}:${tall}`, row = `${side}:1`;
  return `Sectors of 32 bytes so far: ${of(reads, perRequest(row))} read, ${of(writes, perRequest(state.way === "direct" ? column : row))} written. ` +
    `Four lanes make a request: four elements of 8 bytes in a row are one sector, four in a column are four.`;
}

function showMoving() {
  const [i, j] = block();
  moves = movesOf(state.way, i, j);
  const done = stepNow();
  const at = places();
  set("way", state.way === "direct" ? "direct" : "tile");
  set("block", `${i},${j}`);
  $("step").max = moves.length;
  set("step", done);
  $("stepText").textContent = `step ${done} of ${moves.length}`;
  $("play").textContent = playing ? "pause" : "play";
  const has = new Set(), gone = new Set();
  moves.slice(0, done).forEach(({ from, to }, k) => {
    if (from) gone.add(String(from));
    if (to && !(gliding && k === done - 1)) has.add(String(to));  // what glides has not arrived
  });
  const last = done > 0 ? moves[done - 1] : move(null, null, "");
  const drawing = svg("svg", { viewBox: `-2 0 ${at.size[0] + 4} ${at.size[1] + 4}`, role: "img", style: `max-width: ${at.size[0] + 4}px` });
  const panels = [["source", tall, wide, "Source", i, j], ["destination", wide, tall, "Destination", j, i]];
  if (state.way !== "direct") panels.push(["tile", side, side, "Tile", -1, -1]);
  for (const [panel, rows, columns, name, p, q] of panels) {
    const [x, y] = at[panel];
    drawing.append(svg("text", { x, y: y - 22, class: "head" }, name),
      svg("text", { x, y: y - 7, class: "under" }, panel === "tile" ? "in shared memory" : `${rows} x ${columns}, block (${p}, ${q})`));
    for (let row = 0; row < rows; ++row) {
      for (let column = 0; column < columns; ++column) {
        const here = [panel, row, column];
        const mine = p < 0 || (Math.floor(row / side) === p && Math.floor(column / side) === q);
        const look = panel === "source" ? (!mine ? "other" : gone.has(String(here)) ? "gone" : "here")
          : has.has(String(here)) ? (gone.has(String(here)) ? "gone" : "here") : "empty";
        drawing.append(element(here, [x, y], i, j, look));
      }
    }
    if (p >= 0) drawing.append(svg("rect", { x: x + cell * side * q, y: y + cell * side * p, width: cell * side, height: cell * side, class: "frame" }));
  }
  for (const place of [last.from, last.to]) {
    if (!place) continue;
    const [x, y] = at[place[0]];
    drawing.append(svg("rect", { x: x + cell * place[2] + 1.5, y: y + cell * place[1] + 1.5, width: cell - 3, height: cell - 3, class: "now" }));
  }
  movingElement = null;
  if (gliding && last.from) {
    movingElement = element(last.from, at[last.from[0]], i, j, "moving");
    const [from, to] = [last.from, last.to].map((place) => [at[place[0]][0] + cell * place[2], at[place[0]][1] + cell * place[1]]);
    movingElement.way = [to[0] - from[0], to[1] - from[1]];
    drawing.append(movingElement);
  }
  const says = done === 0 ? `Block (${i}, ${j}) of the source becomes block (${j}, ${i}) of the destination.` : last.says;
  drawing.setAttribute("aria-label", `Step ${done} of ${moves.length}. ${says}`);
  $("drawing").replaceChildren(drawing);
  $("movingText").setAttribute("aria-live", playing ? "off" : "polite");
  $("movingText").replaceChildren(paragraph(says), paragraph(counts(done, i, j)));
}

// Motion. One step begins at `began`; nothing is asked of the browser while nothing moves.
function frame(now) {
  if (!playing && !gliding) return;
  const passed = now - began;
  if (movingElement) {
    const share = Math.min(1, passed / glide), eased = share * share * (3 - 2 * share);
    movingElement.setAttribute("transform", `translate(${movingElement.way.map((part) => part * eased)})`);
  }
  if (passed >= glide && gliding) {
    gliding = false;
    showMoving();
  }
  if (playing && passed >= period) {
    if (stepNow() < moves.length) forward();
    if (stepNow() >= moves.length && !gliding) halt();
  }
  if (playing || gliding) requestAnimationFrame(frame);
}

function forward() {
  gliding = !calm.matches;
  began = performance.now();
  change({ step: stepNow() + 1 });
}

// All motion ends, and the step stays.
function halt() {
  if (!playing && !gliding) return;
  playing = gliding = false;
  showMoving();
}

const goTo = (step) => {
  halt();
  change({ step: Math.min(Math.max(step, 0), moves.length) });
};

for (let i = 0; i < blockRows; ++i)
  for (let j = 0; j < blockColumns; ++j) {
    const option = paragraph(`(${i}, ${j}) to (${j}, ${i})`, "option");
    option.value = `${i},${j}`;
    $("block").append(option);
  }
$("play").addEventListener("click", () => {
  if (playing) return goTo(stepNow());
  if (stepNow() >= moves.length) change({ step: 0 });
  playing = true;
  forward();
  requestAnimationFrame(frame);
});
$("stepBack").addEventListener("click", () => goTo(stepNow() - 1));
$("stepForward").addEventListener("click", () => {
  halt();
  if (stepNow() >= moves.length) return;
  forward();
  requestAnimationFrame(frame);
});
$("step").addEventListener("input", () => goTo(Number($("step").value)));
$("block").addEventListener("input", () => { halt(); change({ block: $("block").value }); });
$("way").addEventListener("input", () => { halt(); change({ way: $("way").value, step: 0 }); });
narrow.addEventListener("change", () => { if (state?.view === "moving") showMoving(); });
document.addEventListener("visibilitychange", () => { if (document.hidden) halt(); });
views.moving = { show: showMoving, leave: halt };
