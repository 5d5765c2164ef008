// Keeps a page of frontguard up to date. The server sends the regions that changed as trees, [tag, {attributes},
// [children]]; here they become nodes, or patch the nodes that are there, so that focus, selection, scrolling and what
// was opened stay as they are. Names come from anywhere: they only ever become text nodes and attribute values, and a
// tree is not trusted even though it comes from our own server.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const TAGS = new Set(
    ("a bdi br button caption code dd details div dl dt em figcaption figure footer form h1 h2 h3 h4 header hr input " +
      "label li meter nav ol option output p pre progress section select small span strong summary table tbody td " +
      "tfoot th thead time tr ul svg g path rect circle ellipse line polyline polygon text tspan title desc defs " +
      "pattern clipPath linearGradient radialGradient stop mask marker").split(" "),
  );
  const ATTRIBUTE = /^[a-zA-Z_][a-zA-Z0-9_.:-]*$/;
  const LINKS = new Set(["href", "xlink:href", "src", "action", "formaction"]);
  const LOCAL_LINK = /^(?:#|\?|\/(?![/\\]))/; // a place on this page or this site
  const REFERENCE = /url\s*\(\s*(?!["']?#)/i; // a paint or a mask from elsewhere
  const GLANCE = 60000;
  const $ = (id) => document.getElementById(id);

  // Trees to nodes ---------------------------------------------------------------------------------------------------

  function allowed(name, value) {
    const bare = name.toLowerCase();
    if (!ATTRIBUTE.test(name) || bare.startsWith("on") || bare === "style" || bare === "srcdoc") return false;
    if (LINKS.has(bare)) return LOCAL_LINK.test(value);
    return !REFERENCE.test(value) || bare.startsWith("aria-") || bare.startsWith("data-");
  }

  const isTree = (tree) =>
    Array.isArray(tree) && typeof tree[0] === "string" && TAGS.has(tree[0]) && tree[1] !== null &&
    typeof tree[1] === "object" && Array.isArray(tree[2]);

  // Texts that follow each other become one, as in a document that was parsed; what is not allowed is left out.
  function childrenOf(tree) {
    const found = [];
    for (const child of tree[2]) {
      if (typeof child === "string") {
        if (child === "") continue;
        if (typeof found[found.length - 1] === "string") found[found.length - 1] += child;
        else found.push(child);
      } else if (isTree(child)) found.push(child);
    }
    return found;
  }

  function build(tree, inSvg) {
    const svg = inSvg || tree[0] === "svg";
    const node = svg ? document.createElementNS(SVG, tree[0]) : document.createElement(tree[0]);
    for (const [name, value] of Object.entries(tree[1])) {
      if (allowed(name, String(value))) node.setAttribute(name, String(value));
    }
    for (const child of childrenOf(tree)) {
      node.append(typeof child === "string" ? document.createTextNode(child) : build(child, svg));
    }
    return node;
  }

  // What the visitor or this script has changed is not the server's to reset.
  const kept = (node, name) =>
    (name === "open" && node.localName === "details") || (name === "tabindex" && node.namespaceURI === SVG);

  function patchAttributes(node, wanted) {
    for (const name of node.getAttributeNames()) {
      if (!Object.hasOwn(wanted, name) && !kept(node, name)) node.removeAttribute(name);
    }
    for (const [name, given] of Object.entries(wanted)) {
      const value = String(given);
      if (node.getAttribute(name) === value || kept(node, name)) continue;
      if (allowed(name, value)) node.setAttribute(name, value);
    }
  }

  const keyOfNode = (node) => (node.nodeType === 1 ? node.id || node.getAttribute("data-key") || "" : "");
  const keyOfTree = (tree) => String(tree[1].id ?? tree[1]["data-key"] ?? "");
  const sameTag = (node, tree) => node.nodeType === 1 && node.localName === tree[0];

  // moveBefore keeps focus and transitions; where there is none, focus is given back in the end.
  function place(parent, node, before) {
    if (node.isConnected && parent.moveBefore) parent.moveBefore(node, before);
    else parent.insertBefore(node, before);
  }

  function patch(node, tree) {
    patchAttributes(node, tree[1]);
    if (node.hasAttribute("data-local")) return; // its content is this script's
    const inSvg = node.namespaceURI === SVG;
    const children = childrenOf(tree);
    const keyed = new Map();
    for (const child of node.childNodes) {
      const key = keyOfNode(child);
      if (key && !keyed.has(key)) keyed.set(key, child);
    }
    const wanted = new Set(children.map((child) => (typeof child === "string" ? "" : keyOfTree(child))));
    let here = node.firstChild;
    for (const child of children) {
      // Nodes that are not wanted any more go first, so that those after them need not move.
      while (here && keyOfNode(here) && !wanted.has(keyOfNode(here))) here = removed(here);
      if (typeof child === "string") {
        if (here && here.nodeType === 3) {
          if (here.data !== child) here.data = child;
          here = here.nextSibling;
        } else node.insertBefore(document.createTextNode(child), here);
        continue;
      }
      const key = keyOfTree(child);
      const known = key ? keyed.get(key) : here && !keyOfNode(here) ? here : null;
      if (known && sameTag(known, child)) {
        keyed.delete(key);
        if (known !== here) place(node, known, here);
        else here = here.nextSibling;
        patch(known, child);
      } else node.insertBefore(build(child, inSvg), here);
    }
    while (here) here = removed(here);
  }

  function removed(node) {
    const next = node.nextSibling;
    return node.remove(), next;
  }

  // Regions ----------------------------------------------------------------------------------------------------------

  function putRegion(main, id, tree) {
    const old = $(id);
    const there = old && old.parentNode === main ? old : null;
    if (!isTree(tree) || tree[1].id !== id) {
      if (there && tree === null) there.remove();
      return;
    }
    if (there && sameTag(there, tree)) return patch(there, tree);
    const made = build(tree, false);
    if (there) return there.replaceWith(made);
    const at = made.dataset.place || "";
    main.insertBefore(made, [...main.children].find((other) => (other.dataset.place || "") > at) || null);
  }

  // All that came since the last frame at once: a hidden page draws no frames and so skips what is in between.
  let waiting = null;

  function take(message, first) {
    const version = document.body.dataset.version;
    if (version && message.version && message.version !== version) return location.reload();
    if (typeof message.title === "string") document.title = `${message.title} · frontguard`;
    if (!message.regions || typeof message.regions !== "object") return;
    if (!waiting) requestAnimationFrame(show);
    const before = waiting && !first ? waiting.regions : {};
    waiting = { regions: { ...before, ...message.regions }, all: first || Boolean(waiting && waiting.all) };
  }

  function show() {
    const { regions, all } = waiting;
    waiting = null;
    const main = $("main");
    const focused = document.activeElement;
    if (all) for (const region of [...main.children]) if (!Object.hasOwn(regions, region.id)) region.remove();
    for (const [id, tree] of Object.entries(regions)) putRegion(main, id, tree);
    if (focused && focused.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
    settle();
  }

  // After every change: what this script adds to the page.
  function settle() {
    tellTimes();
    addFilter();
    applyFilter();
    rove();
    noticeVerdicts();
  }

  // Connection -------------------------------------------------------------------------------------------------------

  let source = null;
  let [retry, pause] = [0, 250];
  let [glances, hiddenSince] = [0, 0];

  function connection(state, words) {
    const place = $("connection");
    if (place.dataset.state === state) return;
    place.dataset.state = state;
    place.textContent = words;
  }

  function connect() {
    clearTimeout(retry);
    if (source) source.close();
    const mine = (source = new EventSource(document.body.dataset.events));
    let first = true;
    mine.addEventListener("open", () => (first = true)); // also when it found its own way back: then all comes anew
    mine.addEventListener("regions", (event) => {
      if (mine !== source) return;
      const message = JSON.parse(event.data);
      pause = 250;
      connection("live", "up to date");
      take(message, first);
      first = false;
      if (document.hidden && Date.now() - hiddenSince > GLANCE) mine.close();
    });
    mine.addEventListener("error", () => {
      if (mine !== source) return;
      connection("lost", "connection lost, trying again");
      if (mine.readyState !== EventSource.CLOSED) return; // it tries again by itself
      clearTimeout(retry);
      retry = setTimeout(connect, pause);
      pause = Math.min(2 * pause, 5000);
    });
  }

  // A browser has few connections to one server: a page that nobody has looked at for a minute gives its own back, and
  // looks once a minute for its title's sake. A machine that slept may hold a connection that is dead without knowing.
  function wake() {
    clearInterval(glances);
    if (document.hidden) {
      hiddenSince = Date.now();
      glances = setInterval(connect, GLANCE);
    } else if (Date.now() - hiddenSince > 10000 || source.readyState !== EventSource.OPEN) connect();
  }

  // Times ------------------------------------------------------------------------------------------------------------

  function ago(seconds) {
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
      if (seconds >= Math.max(size, 2)) return `${Math.floor(seconds / size)} ${unit} ago`;
    }
    return "just now";
  }

  function tellTimes() {
    for (const time of document.querySelectorAll("time[data-at]")) {
      const said = ago(Date.now() / 1000 - Number(time.dataset.at));
      if (time.textContent !== said) time.textContent = said;
      time.title ||= time.getAttribute("datetime");
    }
  }

  // News for those who listen: changed verdicts and statuses, gathered so that they are not too many ------------------

  let verdicts = new Map();
  let status = "";
  let news = [];
  let telling = 0;

  function noticeVerdicts() {
    const found = new Map();
    for (const row of document.querySelectorAll("#arms tbody tr[data-verdict]")) {
      const { key, verdict } = row.dataset;
      const before = verdicts.get(key);
      found.set(key, verdict);
      if (before !== undefined && before !== verdict) {
        news.push(`arm ${row.querySelector(".name").textContent.slice(0, 80)}: ${verdict}`);
      }
    }
    verdicts = found;
    const chip = document.querySelector("#head [data-status]");
    if (chip && status && chip.dataset.status !== status) news.unshift(`the study is now: ${chip.textContent}`);
    status = chip ? chip.dataset.status : "";
    if (news.length && !telling) telling = setTimeout(tellNews, 1000);
  }

  function tellNews() {
    const shown = news.slice(0, 3).join("; ");
    $("news").textContent = news.length > 3 ? `${shown}; and ${news.length - 3} more changes` : shown;
    news = [];
    telling = setTimeout(() => {
      telling = 0;
      if (news.length) tellNews();
    }, 5000);
  }

  // The table's filter -----------------------------------------------------------------------------------------------

  let sought = "";

  function addFilter() {
    const here = $("filter-place");
    if (!here || here.firstChild) return;
    const box = ["input", { id: "filter", type: "search", autocomplete: "off", spellcheck: "false" }, []];
    here.append(build(["label", {}, ["Filter by name ", box]]));
    here.append(build(["span", { id: "filtered", role: "status" }, []]));
    $("filter").value = sought;
    $("filter").addEventListener("input", () => {
      sought = $("filter").value;
      applyFilter();
    });
  }

  function applyFilter() {
    const place = $("filtered");
    if (!place) return;
    const text = sought.trim().toLowerCase();
    const rows = document.querySelectorAll("#arms tbody tr");
    let shown = 0;
    for (const row of rows) {
      const hit = !text || row.cells[0].textContent.toLowerCase().includes(text);
      if (row.hidden === hit) row.hidden = !hit;
      shown += hit;
    }
    const said = text ? `${shown} of ${rows.length} rows` : "";
    if (place.textContent !== said) place.textContent = said;
  }

  // Keys: one arm of the picture is reached by Tab, the others from there by the arrows ------------------------------

  const armsOf = (svg) => [...svg.querySelectorAll("a[href]")];
  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, -1], ArrowDown: [1, 1] };

  function rove() {
    for (const svg of document.querySelectorAll("figure > svg")) {
      const arms = armsOf(svg);
      const now = arms.find((arm) => arm === document.activeElement) ||
        arms.find((arm) => arm.getAttribute("tabindex") === "0") || arms[0];
      for (const arm of arms) {
        const index = arm === now ? "0" : "-1";
        if (arm.getAttribute("tabindex") !== index) arm.setAttribute("tabindex", index);
      }
    }
  }

  // Left and right go through all arms in their order across the picture, up and down in that along it.
  function step(event) {
    const [axis, by] = STEPS[event.key] || [];
    const arm = event.target.closest?.("figure > svg a[href]");
    if (!by || !arm || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const placed = armsOf(arm.closest("figure > svg")).map((other) => {
      const box = other.getBoundingClientRect();
      return [other, axis ? box.y + box.height / 2 : box.x + box.width / 2];
    });
    const order = placed.sort((one, other) => one[1] - other[1]).map(([other]) => other);
    order[order.indexOf(arm) + by]?.focus();
    rove();
  }

  function onKey(event) {
    const typing = event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey;
    if (event.key === "/" && !typing && $("filter")) {
      event.preventDefault();
      $("filter").focus();
    } else if (event.key === "Escape" && event.target.id === "filter") {
      $("filter").value = sought = "";
      applyFilter();
      event.target.blur();
    } else step(event);
  }

  // Theme ------------------------------------------------------------------------------------------------------------

  const THEMES = ["auto", "light", "dark"];
  let theme;

  function useTheme(name) {
    theme = THEMES.includes(name) ? name : "auto";
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }

  try {
    useTheme(localStorage.getItem("frontguard-theme")); // before the body is painted
  } catch {
    useTheme("auto"); // storage may be forbidden
  }

  function nextTheme() {
    useTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
    $("theme").textContent = `Theme: ${theme}`;
    try {
      localStorage.setItem("frontguard-theme", theme);
    } catch {
      // then it lasts as long as the page
    }
  }

  // Begin ------------------------------------------------------------------------------------------------------------

  document.addEventListener("DOMContentLoaded", () => {
    document.documentElement.classList.add("scripted");
    $("theme").hidden = false;
    $("theme").textContent = `Theme: ${theme}`;
    $("theme").addEventListener("click", nextTheme);
    if ($("arms")) $("keys").hidden = false;
    document.addEventListener("keydown", onKey);
    document.addEventListener("change", (event) => event.target.closest("form.axes")?.requestSubmit());
    settle();
    if (!document.body.dataset.events) return;
    setInterval(tellTimes, 1000);
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", connect);
    window.addEventListener("pageshow", (event) => event.persisted && connect());
    window.addEventListener("pagehide", () => source && source.close());
    connect();
  });
})();
