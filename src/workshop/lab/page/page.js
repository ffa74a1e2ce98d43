// The tabs, and the start.
for (const name of Object.keys(views)) $(name + "Tab").addEventListener("click", () => change({ view: name }));

makeCore().then((made) => {
  core.answer = made.cwrap("lab_answer", "string", ["string", "number", "string", "number", "number", "number", "boolean"]);
  core.sectors = made.cwrap("lab_sectors", "string", ["string", "number", "number"]);
  core.note = made.cwrap("lab_note", "string", ["number", "number", "number", "number"]);
  load();
  window.addEventListener("hashchange", load);
  window.lab.ready = true;
});
