// Everything here is an addition: without it each form has its button and each link its page.
"use strict";

// Only HTML that this server rendered is ever put into a page.
const policy = window.trustedTypes ? trustedTypes.createPolicy("cairn", { createHTML: (html) => html }) : { createHTML: (html) => html };
const put = (element, html) => { element.innerHTML = policy.createHTML(html); };
const part = async (url, signal) => {
  const answer = await fetch(url, { headers: { "Cairn-Part": "1" }, signal, credentials: "same-origin" });
  if (answer.status === 401) { location.reload(); }
  return answer.text();
};

const say = (element, words) => {
  const line = document.createElement("p");
  line.className = "summary";
  line.setAttribute("role", "status");
  line.textContent = words;
  element.replaceChildren(line);
};

const form = document.getElementById("search");
const results = document.getElementById("results");
const WAIT_MS = 140;

if (form && results) {
  let timer = 0, under_way = null;
  const address = () => {
    const given = new URLSearchParams();
    for (const [name, value] of new FormData(form)) { if (value.trim()) { given.append(name, value); } }
    return form.getAttribute("action") + (given.size ? "?" + given : "");
  };
  const search = async () => {
    const url = address();
    if (under_way) { under_way.abort(); }
    under_way = new AbortController();
    try {
      const html = await part(url, under_way.signal);
      put(results, html);
      const summary = results.querySelector(".summary");
      document.getElementById("said").textContent = summary ? summary.textContent : "";
      history.replaceState(null, "", url);
      document.title = (form.q.value.trim() || "Search") + " · Cairn";
    } catch (error) {
      if (error.name !== "AbortError") { say(results, "The server does not answer. Type on to try again."); }
    }
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(search, WAIT_MS); };
  form.addEventListener("input", soon);
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); search(); });
}

document.addEventListener("click", async (event) => {
  const why = event.target.closest && event.target.closest("a.why");
  if (!why || event.ctrlKey || event.metaKey || event.shiftKey) { return; }
  event.preventDefault();
  const item = why.closest(".result");
  const open = item.querySelector(".explained");
  if (open) { open.remove(); why.setAttribute("aria-expanded", "false"); return; }
  const box = document.createElement("div");
  box.className = "explained";
  put(box, await part(why.href));
  item.querySelector(".head").after(box);
  why.setAttribute("aria-expanded", "true");
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) { return; }
  const field = document.getElementById("q");
  const home = document.querySelector("nav a");
  const typing = /^(input|select|textarea)$/i.test(event.target.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    if (field) { field.focus(); field.select(); } else { location.href = home ? home.href : "/"; }
    return;
  }
  if ((event.key !== "ArrowDown" && event.key !== "ArrowUp") || (typing && event.target !== field)) { return; }
  const hits = [...document.querySelectorAll("a.hit")];
  if (!hits.length) { return; }
  const at = hits.indexOf(document.activeElement);
  if (at < 0 && event.target !== field && document.activeElement !== document.body) { return; }
  event.preventDefault();
  const next = at + (event.key === "ArrowDown" ? 1 : -1);
  if (next < 0 && field) { field.focus(); } else { hits[Math.min(Math.max(next, 0), hits.length - 1)].focus(); }
});

const LEAST_FIT = 0.7; // smaller letters would be hard to read: then one scrolls
const root = document.querySelector(".picture .root");
if (root) {
  const picture = root.closest(".picture"), graph = root.closest("svg"), frame = picture.getBoundingClientRect();
  const wide = graph.width.baseVal.value, high = graph.height.baseVal.value, fit = frame.width / wide;
  if (fit < 1 && fit > LEAST_FIT) { graph.setAttribute("width", wide * fit); graph.setAttribute("height", high * fit); }
  const box = root.getBoundingClientRect();
  picture.scrollLeft += box.left - frame.left - (frame.width - box.width) / 2;
  picture.scrollTop += box.top - frame.top - (frame.height - box.height) / 2;
}

const live = document.getElementById("live");
if (live && window.EventSource) {
  const MOST_ROWS = 100;
  const events = new EventSource(live.dataset.events);
  const lost = document.createElement("div");
  events.addEventListener("error", () => { say(lost, "Live updates are interrupted; trying again."); live.prepend(lost); });
  events.addEventListener("open", () => lost.remove());
  const replace = (id) => (event) => { put(document.getElementById(id), event.data); };
  events.addEventListener("status", replace("live-status"));
  events.addEventListener("traffic", replace("live-traffic"));
  events.addEventListener("calls", replace("live-calls"));
  events.addEventListener("call", (event) => {
    const rows = document.getElementById("live-calls"), holder = document.createElement("tbody");
    put(holder, event.data);
    const row = holder.firstElementChild;
    row.classList.add("new");
    rows.prepend(row);
    while (rows.children.length > MOST_ROWS) { rows.lastElementChild.remove(); }
    const none = document.getElementById("no-calls");
    if (none) { none.remove(); }
    setTimeout(() => row.classList.remove("new"), 400);
  });
  addEventListener("pagehide", () => events.close());
}
