// The view of what one request of a warp takes of global memory.
const lanePresets = [
  ["lanes=32:1&bytes=4&vector=1", "a row: neighbours of 4 bytes"],
  ["lanes=32:4&bytes=4&vector=4", "a row, 16 bytes a lane"],
  ["lanes=32:1024&bytes=4&vector=1", "a column of 1024 floats"],
  ["lanes=32:4096&bytes=4&vector=4", "a column of 1024 floats, 16 bytes a lane"],
  ["lanes=(8,4):(1,1024)&bytes=4&vector=1", "8 x 4 elements of a matrix of 1024 columns"],
  ["lanes=32:2&bytes=4&vector=1", "every second float"],
  ["lanes=(4,8):(1,100)&bytes=2&vector=1", "halves: 4 neighbours in each of 8 rows of 100"],
];
offer($("lanePreset"), [["", ""], ...lanePresets]);

const laneText = () => `lanes=${state.lanes}&bytes=${state.bytes}&vector=${state.vector}`;

function showSectors() {
  set("lanes", state.lanes);
  set("laneBytes", state.bytes);
  set("vector", state.vector);
  $("lanePreset").value = lanePresets.some(([text]) => text === laneText()) ? laneText() : "";
  const next = JSON.parse(core.sectors(state.lanes, state.bytes, state.vector));
  const box = $("sectorsVerdict");
  if (next.error) {
    box.className = "verdict error";
    box.replaceChildren(...mistake(next, state.lanes));
    draw($("sectorsPicture"), [], core.note);
    return;
  }
  const clean = next.sectors === next.ideal;
  box.className = "verdict " + (clean ? "clean" : "conflict");
  box.replaceChildren(paragraph(`${clean ? "✓" : "✗"} ${next.verdict} ${next.sectors} where ${next.ideal} would do.`));
  draw($("sectorsPicture"), next.lines, core.note);
  window.lab.sectors = next;
}

$("lanes").addEventListener("input", () => change({ lanes: $("lanes").value }));
$("laneBytes").addEventListener("input", () => change({ bytes: Number($("laneBytes").value) }));
$("vector").addEventListener("input", () => change({ vector: Number($("vector").value) }));
$("lanePreset").addEventListener("input", () => {
  if (!$("lanePreset").value) return;
  const { lanes, bytes, vector } = parse($("lanePreset").value);
  change({ lanes, bytes, vector });
});
views.sectors = { show: showSectors };
