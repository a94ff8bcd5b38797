// Keeps a page up to date: asks how far the ledger has come, and fetches the page anew when it
// has. Without it everything works, and the reader reloads.
"use strict";
(() => {
  const EVERY = 2000, SOON = 700;
  const news = document.getElementById("news");
  let isBusy = false;

  const main = () => document.getElementById("main");
  const told = (text) => { news.firstElementChild.textContent = text; news.hidden = false; };

  // Somebody who types, or has marked some text, does not want it taken away.
  const isInUse = () => {
    const selection = document.getSelection();
    const marks = selection && !selection.isCollapsed && main().contains(selection.anchorNode);
    const at = document.activeElement;
    return marks || (at && main().contains(at) && at.matches("input, select, textarea"));
  };

  // What was opened, and where the focus is, are found again by what they are about: rows come
  // between others.
  const nameOf = (one) => one.matches("summary") ? one.parentElement.dataset.key
    : one.id || `${one.getAttribute("href")} ${one.textContent}`;
  const opened = () => [...main().querySelectorAll("details[open][data-key]")]
    .map((one) => one.dataset.key);
  const FOCUSED = "a, summary, pre, button";

  const renew = async () => {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("main");
    if (!fresh) return;
    const open = opened();
    const at = document.activeElement;
    const focus = main().contains(at) && at.matches(FOCUSED) ? nameOf(at) : null;
    fresh.querySelectorAll("details[data-key]").forEach((one) => {
      one.open = open.includes(one.dataset.key);
    });
    main().replaceWith(document.adoptNode(fresh));
    document.title = page.title;
    if (focus !== null) {
      const again = [...main().querySelectorAll(FOCUSED)].find((one) => nameOf(one) === focus);
      if (again) again.focus({ preventScroll: true });
    }
  };

  const look = async () => {
    if (document.hidden || isBusy) return;
    isBusy = true;
    try {
      const answer = await fetch("/newest.json", { cache: "no-store" });
      const state = await answer.json();
      const now = `${state.newest} ${state.listed} ${state.trouble ? 1 : 0}`;
      const live = main().dataset.live;
      if (live === "never") return;
      if (now === main().dataset.newest && !("again" in main().dataset)) {
        news.hidden = true;
      } else if (isInUse() || (live === "ask" && !("again" in main().dataset))) {
        told("Something is new. Show it");
      } else {
        await renew();
        news.hidden = true;
      }
    } catch (error) {
      told("The viewer does not answer. Try again");
    } finally {
      isBusy = false;
    }
  };

  const run = async () => {
    await look();
    setTimeout(run, "again" in main().dataset ? SOON : EVERY);
  };

  document.addEventListener("visibilitychange", look);
  setTimeout(run, "again" in main().dataset ? SOON : EVERY);
})();
