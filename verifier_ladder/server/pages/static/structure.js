// Shows a structure in three dimensions when the reader asks for it. Without it, or without WebGL,
// the page has its drawing and its words.
"use strict";
(() => {
  const STEP = 10, NEARER = 1.15;
  const KEYS = {
    ArrowLeft: (v) => v.rotate(-STEP, "y"), ArrowRight: (v) => v.rotate(STEP, "y"),
    ArrowUp: (v) => v.rotate(-STEP, "x"), ArrowDown: (v) => v.rotate(STEP, "x"),
    "+": (v) => v.zoom(NEARER), "-": (v) => v.zoom(1 / NEARER), 0: (v) => v.zoomTo(),
  };
  let library = null;

  document.documentElement.classList.add("scripted");

  const load = (url) => {
    library ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.addEventListener("load", done);
      script.addEventListener("error", () => {
        library = null;
        failed(new Error("The viewer can't be loaded."));
      });
      script.src = url;
      document.head.append(script);
    });
    return library;
  };

  const hasWebgl = () => {
    const canvas = document.createElement("canvas");
    return Boolean(canvas.getContext("webgl2") || canvas.getContext("webgl"));
  };

  const structure = async (url) => {
    const answer = await fetch(url);
    const text = await answer.text();
    const isText = (answer.headers.get("content-type") || "").startsWith("text/plain");
    if (!isText) throw new Error("This structure can't be read. Load the page anew.");
    if (!answer.ok) throw new Error(text);
    return text;
  };

  const background = (box) => {
    const parts = getComputedStyle(box).backgroundColor.match(/\d+/g).slice(0, 3);
    return `#${parts.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
  };

  // Which colour is which element, in words.
  const name = (place, model) => {
    const colours = window.$3Dmol.elementColors.defaultColors;
    const symbols = new Set(model.selectedAtoms({}).map((atom) => atom.elem));
    place.replaceChildren(...[...symbols].sort().map((symbol) => {
      const mark = document.createElement("i"), word = document.createElement("span");
      const colour = colours[symbol] ?? window.$3Dmol.elementColors.defaultColor;
      mark.style.backgroundColor = `#${colour.toString(16).padStart(6, "0")}`;
      word.append(mark, symbol);
      return word;
    }));
  };

  const draw = (box, text, format) => {
    const viewer = window.$3Dmol.createViewer(box, {
      backgroundColor: background(box), disableFog: true,
    });
    const isCrystal = format === "xyz";
    const model = viewer.addModel(text, format, { assignBonds: !isCrystal, keepH: true });
    if (isCrystal) {
      viewer.setStyle({}, { sphere: { scale: 0.28 } });
      name(box.parentNode.querySelector(".elements"), model);
      const ink = { fontColor: "#808080", showBackground: false, inFront: true };
      const axis = { color: "#808080", radius: 0.06, midpos: -1 };
      viewer.addUnitCell(model, {
        box: { color: "#808080" }, alabel: "a", blabel: "b", clabel: "c",
        astyle: { ...axis }, bstyle: { ...axis }, cstyle: { ...axis },
        alabelstyle: { ...ink }, blabelstyle: { ...ink }, clabelstyle: { ...ink },
      });
    } else {
      viewer.setStyle({}, { cartoon: { color: "spectrum" }, stick: { radius: 0.12 } });
    }
    viewer.zoomTo();
    if (isCrystal) {
      viewer.rotate(-25, "y");
      viewer.rotate(18, "x");
    }
    viewer.render();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      viewer.setBackgroundColor(background(box));
      viewer.render();
    });
    return viewer;
  };

  const say = (place, text) => { place.querySelector("[role=status]").textContent = text; };

  const show = async (button) => {
    const place = button.closest(".structure");
    const box = place.querySelector(".space");
    // The page is not fetched anew under somebody who turns a structure.
    const main = document.getElementById("main");
    main.dataset.live = "ask";
    delete main.dataset.again;
    button.disabled = true;
    say(place, "Loading …");
    try {
      if (!hasWebgl()) throw new Error("This browser draws nothing in 3-D: it has no WebGL.");
      const [text] = await Promise.all([
        structure(button.dataset.structure), load(button.dataset.library),
      ]);
      box.hidden = false;
      // A file that ends in .cif may hold a crystal or a protein.
      const viewer = draw(box, text, text.startsWith("ATOM") ? "pdb" : button.dataset.format);
      box.addEventListener("keydown", (event) => {
        const act = KEYS[event.key];
        if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
        act(viewer);
        viewer.render();
        event.preventDefault();
      });
      say(place, "Drag to turn it, or use the arrow keys; + and − bring it nearer and further.");
      button.hidden = true;
      box.dataset.drawn = "yes";
      box.focus({ preventScroll: true });
    } catch (error) {
      box.hidden = true;
      button.disabled = false;
      say(place, error.message || String(error));
    }
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-structure]");
    if (button) show(button);
  });
})();
