// What is shown follows from `state`, and so does the address: whoever opens a link sees what its
// sender saw, and a reload changes nothing.
const standard = "layout=Swizzle<3,2,6> o (64,64):(64,1)&bytes=4&access=rows:store:16&access=blocks:load:16";
const others = { view: "banks", rung: "smem", lanes: "32:1024", vector: 1, block: "0,1", way: "tile", step: 0 };
const core = {};  // what the WebAssembly answers
const views = {};  // by name: show() draws it
let state;
window.lab = { milliseconds: 0, ready: false };

function parse(text) {
  const given = new URLSearchParams(text.replaceAll("+", "%2B"));
  const usual = given.has("layout") ? new URLSearchParams() : new URLSearchParams(standard);
  const whole = (name, other) => (/^-?\d+$/.test(given.get(name) ?? "") ? Number(given.get(name)) : other);
  const word = (name) => given.get(name) ?? others[name];
  const accesses = given.has("access") ? given.getAll("access") : usual.getAll("access");
  return {
    view: Object.hasOwn(views, word("view")) ? word("view") : others.view,
    layout: given.get("layout") ?? usual.get("layout"),
    bytes: whole("bytes", 4),
    accesses: accesses.concat("", "").slice(0, Math.max(2, accesses.length)),
    access: whole("show", 0),
    request: whole("request", -1),
    group: whole("group", -1),
    rung: word("rung"),
    lanes: word("lanes"),
    vector: whole("vector", others.vector),
    block: word("block"),
    way: word("way"),
    step: whole("step", others.step),
  };
}

function address() {
  const put = [];
  const usual = parse(standard);
  const banks = state.view === "banks";
  const asked = banks || state.layout !== usual.layout || String(state.accesses) !== String(usual.accesses);
  if (!banks) put.push(["view", state.view]);
  if (asked) put.push(["layout", state.layout]);
  if (banks || state.bytes !== usual.bytes) put.push(["bytes", state.bytes]);
  for (const access of state.accesses) if (asked && access) put.push(["access", access]);
  if (state.access) put.push(["show", state.access]);
  if (state.request >= 0) put.push(["request", state.request]);
  if (state.group >= 0) put.push(["group", state.group]);
  for (const name of ["rung", "lanes", "vector", "block", "way", "step"])
    if (state[name] !== others[name]) put.push([name, state[name]]);
  return "#" + put.map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&");
}

function change(what) {
  Object.assign(state, what);
  show();
  history.replaceState(null, "", address());
}

function show() {
  for (const name of Object.keys(views)) {
    $(name + "View").hidden = name !== state.view;
    $(name + "Tab").setAttribute("aria-selected", String(name === state.view));
    if (name !== state.view) views[name].leave?.();
  }
  $("note").hidden = state.view === "moving";
  views[state.view].show();
}

function load() {
  for (const view of Object.values(views)) view.leave?.();  // what a link shows is at rest
  state = parse(location.hash.slice(1) || start || standard);
  show();
}
