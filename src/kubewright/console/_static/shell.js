// Functions for every page: keyboard shortcuts, theme, and browser history.
const STEP = { j: 1, k: -1 };

function typing(element) {
  return element?.closest?.("input, textarea, select, [contenteditable=''], [contenteditable='true']");
}

/**
 * Keeps the order of events that happen before the page's socket has completed its handshake.
 * NiceGUI polls for the handshake once per event, so that Enter can overtake the text that was typed before it. Here all
 * of them wait in one queue. NiceGUI sets both properties: `socket` when the page is mounted, `did_handshake` afterwards.
 */
function queueEarlyEvents() {
  let socket, ready = false;
  const queue = [];
  const stub = { emit: (...message) => queue.push(message) };

  Object.defineProperty(window, "socket", {
    get: () => socket ?? stub,
    set(made) {
      socket = made;
      const emit = made.emit.bind(made);
      made.emit = (...message) => {
        if (ready || message[0] === "handshake") return emit(...message);
        queue.push(message);
        return made;
      };
      made.on("disconnect", () => (ready = false));
      made.on("connect_error", reloadWithoutSession);
    },
  });

  Object.defineProperty(window, "did_handshake", {
    get: () => true,
    set(done) {
      ready = done;
      while (ready && queue.length) {
        const [event, message, ...more] = queue.shift();
        message.client_id ??= window.clientId;  // not known yet while components are mounted
        socket.emit(event, message, ...more);
      }
    },
  });

  return () => {
    socket = undefined;
    ready = false;
    queue.length = 0;
    window.clientId = undefined;
  };
}

const forgetSocket = queueEarlyEvents();  // pages import this file before they are mounted

/** Reloads the page if its socket was refused because the session has ended. The browser then shows the sign-in page. */
async function reloadWithoutSession() {
  const icon = await fetch(`${window.path_prefix ?? ""}/favicon.ico`, { cache: "no-store" }).catch(() => undefined);
  if (icon?.status === 401) location.reload();
}

/**
 * NiceGUI sets the color scheme of the document again after each update of a page, and each time the browser restyles
 * all elements, even if nothing has changed.
 */
function ignoreSameColorScheme() {
  const meta = document.getElementById("nicegui-color-scheme");
  const set = meta.setAttribute.bind(meta);
  meta.setAttribute = (name, value) => meta.getAttribute(name) === value || set(name, value);
}

ignoreSameColorScheme();

/**
 * Opens pages without loading scripts and style sheets again: requests the page, and mounts it in this document. For the
 * server, it is a page like any other. The browser itself loads everything else, such as pages of other clusters.
 */
const MAX_PAGES = 50;  // NiceGUI leaves a timer behind for each page
const loadPage = (url) => location.assign(url);
const openWindow = window.open.bind(window);
let pages = 0, loading, unsaved = false;
let shown = location.pathname + location.search;  // the address of the page that this document shows
let shell;  // the component of the mounted page, if any
let prefix;  // the first key of a shortcut of two keys
const earlyKeys = [];
const MAX_EARLY_KEYS = 20;

function isOfThisCluster(url) {
  const root = `${window.path_prefix ?? ""}/`;
  return url.origin === location.origin && url.pathname.startsWith(root) && !/^(contexts|sign-|_)/.test(url.pathname.slice(root.length));
}

/** Whether this document can show another page: both import maps have the same context and versions. */
function fits(page) {
  const map = (one) => one.querySelector("script[type=importmap]")?.textContent;
  return map(page) === map(document);
}

async function openPage(target, push) {
  const url = new URL(target, location.href);
  loading?.abort();
  if (unsaved || ++pages > MAX_PAGES || !isOfThisCluster(url)) return loadPage(url);
  const request = (loading = new AbortController());
  try {
    const response = await fetch(url, { headers: { accept: "text/html" }, redirect: "manual", signal: request.signal });
    const isPage = response.headers.get("x-nicegui-content") === "page";
    const page = isPage && new DOMParser().parseFromString(await response.text(), "text/html");
    if (!page || !fits(page)) return loadPage(url);
    // Loads the modules before it removes the old page, so that the new one appears immediately.
    await Promise.all([...page.querySelectorAll("link[rel=modulepreload]")].map((link) => import(link.getAttribute("href"))));
    if (!request.signal.aborted) showPage(page, url, push);
  } catch (error) {
    if (!request.signal.aborted) loadPage(url);
  }
}

/** Loads the large scripts of lists and forms before they are needed, one after the other. */
async function preload(scripts) {
  if (navigator.connection?.saveData) return;
  for (const script of scripts) {
    await new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle));
    await import(script).catch(() => {});
  }
}

function showPage(page, url, push) {
  const again = url.href === location.href;
  app.unmount();  // NiceGUI's app; sends pending input
  window.socket.off();
  window.socket.disconnect();
  forgetSocket();
  shown = url.pathname + url.search;
  if (push) history[again ? "replaceState" : "pushState"]({}, "", url);
  for (const name of [...document.body.classList]) if (name.startsWith("kw-")) document.body.classList.remove(name);
  document.title = page.title;
  const known = new Set([...document.querySelectorAll("style")].map((style) => style.textContent));
  for (const style of page.querySelectorAll("style")) if (!known.has(style.textContent) && !style.textContent.includes("#esm-fallback")) document.head.append(style);
  const [main] = [...page.querySelectorAll("script[type=module]")].filter((script) => script.textContent.includes('app.mount("#app")'));
  const script = document.createElement("script");
  script.type = "module";
  script.nonce = document.querySelector("script[nonce]").nonce;
  script.textContent = main.textContent;
  script.addEventListener("load", () => script.remove());
  document.body.append(script);
  scrollTo(0, 0);
  announce(page.title);
}

/** Announces the title of the new page to screen readers, as browsers do when they load a page. */
function announce(title) {
  const place = document.getElementById("kw-announced") ?? document.createElement("div");
  place.id = "kw-announced";
  place.className = "kw-only-heard";
  place.setAttribute("role", "status");
  place.textContent = title;
  document.body.append(place);
}

// NiceGUI navigates with `window.open` too.
window.open = (url, target, ...more) => (target === "_self" ? void openPage(url, true) : openWindow(url, target, ...more));

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href, location.href);
  if ((link.target && link.target !== "_self") || link.hasAttribute("download") || url.hash || !isOfThisCluster(url)) return;
  event.preventDefault();
  openPage(url, true);
});

/** Opens the page of the address after the browser has changed it. */
function openAddress() {
  // Ignores navigation within the page, such as the skip link.
  if (location.pathname + location.search === shown) return;
  if (unsaved) location.reload();
  else openPage(location.href, false);
}

/** Whether a key moves the focus to a search field, or opens the palette: "/", Ctrl+K or Command+K. */
function searches(event) {
  const control = event.ctrlKey || event.metaKey;
  return !event.altKey && (control ? !event.shiftKey && event.key.toLowerCase() === "k" : event.key === "/");
}

// Between two pages, keys and the browser's buttons wait for the next page to be mounted.
window.addEventListener("popstate", () => shell && openAddress());
document.addEventListener("keydown", (event) => {
  if (shell) return shell.key(event);
  if (event.defaultPrevented || earlyKeys.length >= MAX_EARLY_KEYS) return;
  earlyKeys.push(new KeyboardEvent("keydown", event));
  if (searches(event)) event.preventDefault();  // otherwise the browser's own search opens
});

export default {
  template: "<div hidden></div>",
  props: { addresses: Object, namespace: String, scripts: Array, fill: Boolean },
  mounted() {
    shell = this;
    document.documentElement.classList.add("kw-drawn");
    document.body.classList.toggle("kw-fill", this.fill);
    preload(this.scripts);
    if (typeof this.namespace === "string") this.scope(this.namespace);
    window.addEventListener("beforeunload", this.leave);
    openAddress();
    this.$nextTick(this.processEarlyKeys);  // the other components are mounted then
  },
  unmounted() {
    unsaved = false;
    shell = undefined;
    window.removeEventListener("beforeunload", this.leave);
  },
  methods: {
    theme(choice) {
      const seconds = 60 * 60 * 24 * 365;
      document.cookie = `kubewright-theme=${choice}; path=/; max-age=${seconds}; SameSite=Strict`;
    },
    scope(namespace) {
      document.cookie = `kubewright-namespace=${encodeURIComponent(namespace)}; path=${window.path_prefix ?? ""}/; SameSite=Strict`;
    },
    address(url, push) {
      history[push ? "pushState" : "replaceState"]({}, "", (window.path_prefix ?? "") + url);
      shown = location.pathname + location.search;
    },
    unsaved(something) {
      unsaved = something;
    },
    async reveal(id) {
      await this.$nextTick();  // groups that were expanded just now are drawn first
      // For an input, NiceGUI's id is that of the input itself.
      const place = document.getElementById(id);
      const field = place?.matches("input, textarea") ? place : place?.querySelector("input, textarea, [contenteditable='true']");
      (field ?? place)?.scrollIntoView({ block: "center" });
      field?.focus();
    },
    go(url) {
      unsaved = false;
      openPage((window.path_prefix ?? "") + url, true);
    },
    leave(event) {
      // Browsers show their own message.
      if (unsaved) event.preventDefault();
    },
    processEarlyKeys() {
      while (earlyKeys.length) {
        const event = earlyKeys.shift();
        this.key(event);
        if (!searches(event)) continue;
        const text = earlyKeys.splice(0).filter((one) => one.key.length === 1 && !one.ctrlKey && !one.metaKey);
        if (typing(document.activeElement)) document.execCommand("insertText", false, text.map((one) => one.key).join(""));
      }
    },
    key(event) {
      if (event.defaultPrevented) return;
      if (searches(event) && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.$emit("palette");
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (typing(event.target)) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      const second = prefix === "g" ? this.addresses[event.key] : undefined;
      prefix = event.key === "g" && !second ? "g" : undefined;
      if (second) openPage((window.path_prefix ?? "") + second, true);
      else if (event.key === "/") this.focus();
      else if (event.key === "?") this.$emit("help");
      else if (event.key in STEP) document.dispatchEvent(new CustomEvent("kubewright:move", { detail: STEP[event.key] }));
      else return;
      event.preventDefault();
    },
    focus() {
      const field = document.querySelector("[data-search=page] input, input[data-search=page]") ?? document.querySelector("[data-search=all] input, input[data-search=all]");
      field?.focus();
      field?.select();
    },
  },
};
