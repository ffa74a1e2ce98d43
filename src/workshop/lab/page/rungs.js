// The view of the ladder's rungs: their legs, and the way of a warp's first accesses. What it knows
// is in the page (rung_data.hpp).
const ladder = JSON.parse($("rungData").textContent);
const rungNamed = (name) => ladder.rungs.find((rung) => rung.name === name);

offer($("rung"), ladder.rungs.map((rung) => [rung.name, rung.name]));
for (const rung of ladder.rungs) {
  if (!Object.values(rung.sizes).some((size) => size.accesses)) continue;
  const option = document.createElement("option");
  option.value = "rung:" + rung.name;
  $("accesses").append(option);
}

// A panel as draw() takes it, of the cells in which something is.
function wholePanel(panel) {
  const count = panel.rowLabels.length * panel.columnLabels.length;
  const labels = Array(count).fill(""), tones = Array(count).fill(-1), marks = Array(count).fill("0"), notes = Array(count).fill("");
  for (const [row, column, label, tone, mark, note = "lane " + label] of panel.cells) {
    const k = row * panel.columnLabels.length + column;
    [labels[k], tones[k], marks[k], notes[k]] = [label, tone, String(mark), note];
  }
  return { ...panel, colours: ladder.colours, labels: labels.join("|") + "|", tones, marks: marks.join(""), notes };
}

// "4 (1)": the figure, and the ideal where it is another.
const rounded = (value) => String(Math.round(10 * value) / 10);
const against = (actual, ideal) => rounded(actual) + (rounded(actual) === rounded(ideal) ? "" : ` (${rounded(ideal)})`);

function legRow(leg) {
  const { sectors, wavefronts, bytes } = leg;
  const cells = [
    leg.leg, leg.place, leg.bytes_a_lane, leg.requests,
    sectors ? against(sectors.mean, sectors.ideal) : "-",
    bytes ? rounded((100 * bytes.used) / bytes.moved) + " %" : "-",
    wavefronts ? against(wavefronts.actual / leg.requests, wavefronts.ideal / leg.requests) : "-",
  ];
  const row = document.createElement("tr");
  row.append(...cells.map((text) => paragraph(text, "td")));
  if ((sectors && sectors.mean > sectors.ideal) || (wavefronts && wavefronts.conflicts > 0)) row.className = "conflict";
  return row;
}

function showRung() {
  const rung = rungNamed(state.rung);
  const size = rung?.sizes[state.bytes];
  set("rung", state.rung);
  offer($("rungBytes"), Object.keys(rung?.sizes ?? {}).map((bytes) => [bytes, bytes]));
  $("rungBytes").value = state.bytes;
  const box = $("rungVerdict");
  $("legs").hidden = !size;
  $("toTile").hidden = !size?.layout;
  if (!size) {
    box.className = "verdict error";
    box.replaceChildren(paragraph(
      ladder.rungs.length === 0 ? "This page knows no rungs: it was built without the emulator."
        : !rung ? `There is no rung '${state.rung}'.`
          : `${rung.name} takes no elements of ${state.bytes} B, but of ${Object.keys(rung.sizes).join(", ")} B.`));
    draw($("rungPicture"), [], () => "");
    return;
  }
  box.className = "verdict";
  box.replaceChildren(...[
    `${rung.name}: ${rung.shows}.`,
    `For 512 x 512 elements it has ${size.blocks} blocks of ${size.threads} threads, and ${size.shared} B of shared memory a block.`,
    size.limit && "Limit: " + size.limit,
    size.predicted && `Predicted: ${size.predicted}.`,
    rung.emulated ? "" : "It runs on a GPU only; its figures follow from its layouts.",
  ].filter((text) => text).map((text) => paragraph(text)));
  $("legs").tBodies[0].replaceChildren(...size.legs.map(legRow));
  const lines = size.lines.map((line) => line.map((number) => wholePanel(ladder.panels[number])));
  draw($("rungPicture"), lines, (i, j, row, column) => lines[i][j].notes[row * lines[i][j].columnLabels.length + column]);
}

const climb = (by) => {
  const count = ladder.rungs.length;
  const at = ladder.rungs.findIndex((rung) => rung.name === state.rung);
  if (count) takeRung(ladder.rungs[(at + by + count) % count].name);
};
// A size that both rungs take is kept.
function takeRung(name) {
  const sizes = Object.keys(rungNamed(name).sizes).map(Number);
  change({ rung: name, bytes: sizes.includes(state.bytes) || sizes.length === 0 ? state.bytes : sizes.includes(4) ? 4 : sizes[0] });
}
$("rung").addEventListener("input", () => takeRung($("rung").value));
$("rungBytes").addEventListener("input", () => change({ bytes: Number($("rungBytes").value) }));
$("rungBefore").addEventListener("click", () => climb(-1));
$("rungAfter").addEventListener("click", () => climb(1));
$("toTile").addEventListener("click", () => {
  change({ view: "banks", layout: rungNamed(state.rung).sizes[state.bytes].layout, accesses: ["rung:" + state.rung, ""], access: 0, request: -1, group: -1 });
});
views.rung = { show: showRung };
