// The first view: accesses to a tile in shared memory.

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
offer($("preset"), ["", ...Object.keys(presets)].map((name) => [name, name]));
for (const walk of ["rows", "columns", "blocks", "diagonal", "ldmatrix"])
  for (const op of ["load", "store"])
    for (const width of ["", ":4", ":8", ":16"])
      if (walk !== "ldmatrix" || (op === "load" && width === "")) {
        const option = document.createElement("option");
        option.value = walk === "ldmatrix" ? walk : `${walk}:${op}${width}`;
        $("accesses").append(option);
      }
let answer = { plain: "(32,32):(32,1)", accesses: [], clean: true };  // the last one without a mistake
let soon;

// The accesses of "rung:NAME" have the texts that the rung's data has.
function spelled(access) {
  if (!access.startsWith("rung:")) return access ? [["", access]] : [];
  const rung = rungNamed(access.slice(5));
  if (!rung) throw new Error(`access '${access}': no such rung`);
  const known = rung.sizes[state.bytes];
  if (!known || !known.accesses) throw new Error(`access '${access}': it has no tile of elements of ${state.bytes} B that lanes take`);
  const tile = JSON.parse(core.answer(state.layout, state.bytes, "", 0, -1, -1, false));
  if (!tile.error && (tile.rows !== known.tile[0] || tile.columns !== known.tile[1]))
    throw new Error(`access '${access}': its tile has ${known.tile.join(" x ")} elements, the layout ${tile.rows} x ${tile.columns}`);
  return known.accesses;
}

function asked(remedy) {
  try {
    const accesses = state.accesses.flatMap(spelled);
    const texts = accesses.map(([, text]) => text).join("\n");
    const next = JSON.parse(core.answer(state.layout, state.bytes, texts, state.access, state.request, state.group, remedy));
    accesses.forEach(([name], i) => { if (name && !next.error) next.accesses[i].name = name; });
    return next;
  } catch (problem) {
    return { error: problem.message };
  }
}

function showBanks() {
  const from = performance.now();
  const next = asked(false);
  verdict(next);
  // Beside a mistake in an access stands the tile alone, beside one in the layout nothing.
  const drawn = next.error ? JSON.parse(core.answer(state.layout, state.bytes, "", 0, -1, -1, false)) : next;
  if (!drawn.error) answer = drawn;
  fill(drawn);
  steps(drawn);
  draw($("picture"), drawn.error ? [] : drawn.lines, core.note);
  window.lab.milliseconds = performance.now() - from;
  // A remedy takes longer to find than all the rest: it follows when changes pause.
  clearTimeout(soon);
  if (!next.error && !next.clean) soon = setTimeout(() => verdict(asked(true)), 100);
}

function fill(next) {
  const asText = (of) => JSON.stringify([of.layout, of.bytes, of.accesses, of.access, of.request, of.group]);
  $("preset").value = Object.keys(presets).find((name) => asText(parse(presets[name])) === asText(state)) ?? "";
  set("layout", state.layout);
  set("bytes", state.bytes);
  state.accesses.slice(0, 2).forEach((access, i) => set("access" + i, access));
  ["B", "M", "S"].forEach((id, i) => set(id, next.swizzle?.[i] ?? ""));
  set("rows", next.rows ?? "");
  set("columns", next.columns ?? "");
  const plain = /^\((\d+),(\d+)\):\((\d+),1\)$/.exec(next.plain ?? "");
  set("padding", plain ? plain[3] - plain[2] : "");
}

function verdict(next) {
  const out = [];
  const box = $("verdict");
  $("apply").hidden = !next.remedyLayout;
  if (next.error) {
    box.className = "error";
    out.push(...mistake(next, state.layout));
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

function steps({ error, accesses, access, request, group }) {
  const now = error ? undefined : accesses[access];
  offer($("which"), (accesses ?? []).map((each, i) => [i, each.name]));
  $("which").value = now ? access : "";
  $("request").textContent = now ? `request ${request} of ${now.requests.length}` : "no access";
  $("group").textContent = !now || group < 0 ? "group: all" : `group ${group + 1} of ${now.requests[request]}`;
}

// Another question starts at the costliest request.
const ask = (what) => change({ request: -1, group: -1, ...what });

// The tile's and the swizzle's fields write the layout.
function compose() {
  const number = (id) => Number($(id).value) || 0;
  const plain = $("padding").value === "" || number("rows") === 0 ? answer.plain
    : `(${number("rows")},${number("columns")}):(${number("columns") + number("padding")},1)`;
  const swizzle = number("B") > 0 ? `Swizzle<${number("B")},${number("M")},${number("S")}> o ` : "";
  ask({ layout: swizzle + plain });
}
for (const id of ["rows", "columns", "padding", "B", "M", "S"]) $(id).addEventListener("input", compose);
$("bytes").addEventListener("input", () => ask({ bytes: Number($("bytes").value) }));
$("layout").addEventListener("input", () => ask({ layout: $("layout").value }));
for (const i of [0, 1])
  $("access" + i).addEventListener("input", () => {
    state.accesses[i] = $("access" + i).value;
    ask({});
  });
$("which").addEventListener("input", () => ask({ access: Number($("which").value) }));
const step = (by) => {
  const count = answer.accesses[answer.access]?.requests.length;
  if (count) change({ request: (answer.request + by + count) % count });
};
$("before").addEventListener("click", () => step(-1));
$("after").addEventListener("click", () => step(1));
$("group").addEventListener("click", () => {
  const groups = answer.accesses[answer.access]?.requests[answer.request];
  if (groups) change({ request: answer.request, group: answer.group + 1 < groups ? answer.group + 1 : -1 });
});
$("apply").addEventListener("click", () => ask({ layout: $("apply").dataset.layout }));
$("preset").addEventListener("input", () => {
  const chosen = presets[$("preset").value];
  if (!chosen) return;
  const { layout, bytes, accesses, access } = parse(chosen);
  ask({ layout, bytes, accesses, access });
});
// Takes the layout that removes the conflicts, and says so where there is none.
$("solve").addEventListener("click", () => {
  if (answer.clean) {
    $("note").textContent = "Nothing to solve: no access has a conflict.";
    return;
  }
  const found = asked(true);
  if (found.remedyLayout) ask({ layout: found.remedyLayout });
  $("note").textContent = found.remedyLayout ? "Solved: " + found.remedyLayout : "No layout was found that removes these conflicts.";
});
views.banks = { show: showBanks };
