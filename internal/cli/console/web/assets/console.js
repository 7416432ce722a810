// The pages work without this script. It merges changes into the page as they arrive, shows ages of times, and copies commands.
"use strict";
(() => {
  const silence = 7000; // milliseconds without an event after which the connection counts as lost: three heartbeats
  const problem = document.getElementById("problem");
  const currency = document.getElementById("currency");
  let source, heard = Date.now(), reported = problem.textContent, ended = false;

  const age = (milliseconds) => {
    const s = Math.max(0, Math.floor(milliseconds / 1000));
    if (s < 120) return s + "s";
    if (s < 600) return Math.floor(s / 60) + "m" + (s % 60 ? (s % 60) + "s" : "");
    if (s < 7200) return Math.floor(s / 60) + "m";
    if (s < 172800) return Math.floor(s / 3600) + "h";
    return Math.floor(s / 86400) + "d";
  };

  const showAges = () => {
    const now = Date.now();
    for (const t of document.querySelectorAll("time")) {
      const difference = now - Date.parse(t.dateTime);
      const text = difference < -1000 ? "in " + age(-difference) : age(difference) + " ago";
      if (t.textContent !== text) t.textContent = text;
    }
  };

  const showProblem = () => {
    let text = reported;
    if (ended) text = "This console was ended or started again: open the address that it printed. The page shows an old state.";
    else if (Date.now() - heard > silence) text = "The connection to the console is lost. The page shows an old state.";
    document.body.classList.toggle("stale", text !== "");
    if (problem.textContent !== text) problem.textContent = text;
    problem.hidden = text === "";
  };

  const showCopyButtons = () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll("button.copy[hidden]")) button.hidden = false;
  };

  const options = {
    ignoreActiveValue: true,
    callbacks: {
      // What the user has opened stays open.
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.nodeName === "DETAILS") && !(name === "hidden" && node.classList.contains("copy")),
    },
  };

  const merge = (id, html) => {
    const element = document.getElementById(id);
    if (!element) return;
    Idiomorph.morph(element, html, { ...options, morphStyle: id === "content" ? "innerHTML" : "outerHTML" });
    showAges();
    showCopyButtons();
  };

  const listen = () => {
    if (source) source.close();
    source = new EventSource("/live?page=" + encodeURIComponent(document.body.dataset.page));
    source.addEventListener("current", (event) => {
      const state = JSON.parse(event.data);
      heard = Date.now();
      reported = state.problem || "";
      const time = currency.querySelector("time");
      if (time) time.dateTime = time.title = state.asOf;
      showAges();
      showProblem();
    });
    source.addEventListener("morph", (event) => {
      const update = JSON.parse(event.data);
      heard = Date.now();
      merge(update.id, update.html);
    });
    // The browser connects again by itself, unless the server has refused.
    source.addEventListener("error", () => {
      ended = source.readyState === EventSource.CLOSED;
      showProblem();
    });
  };

  // The list follows the search field.
  const search = document.getElementById("q");
  if (search) {
    let timer, last = search.value;
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        if (search.value === last) return;
        last = search.value;
        const page = new URL(location.href);
        if (last) page.searchParams.set("q", last);
        else page.searchParams.delete("q");
        const answer = await fetch(page);
        if (!answer.ok) return;
        const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const id of ["summary", "rows"]) merge(id, parsed.getElementById(id).outerHTML);
        history.replaceState(null, "", page);
        document.body.dataset.page = page.pathname + page.search;
        listen();
      }, 150);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement.tagName !== "INPUT") {
        event.preventDefault();
        search.focus();
      }
    });
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  showAges();
  showCopyButtons();
  listen();
  setInterval(() => { showAges(); showProblem(); }, 1000);
})();
