// The terminal of a container. The server sends more output only after the browser has processed the previous part, so
// that no program can fill the memory of either.
import { FitAddon, Terminal } from "nicegui-xterm";
import { loadResource } from "../../static/utils/resources.js";

const COLORS = { background: "surface", foreground: "text", cursor: "accent", cursorAccent: "surface", selectionBackground: "selected" };

function theme() {
  const style = getComputedStyle(document.body);
  return Object.fromEntries(Object.entries(COLORS).map(([name, color]) => [name, style.getPropertyValue(`--kw-${color}`).trim()]));
}

export default {
  template: `<div class="kw-terminal"></div>`,
  props: { label: String, resourcePath: String },
  // Declared, and not named like native events, which would reach the same listeners.
  emits: ["ready", "size", "typed"],
  async mounted() {
    await this.$nextTick();  // window.path_prefix is set
    await loadResource(`${window.path_prefix ?? ""}${this.resourcePath}/xterm.css`);
    this.terminal = new Terminal({ fontSize: 13, scrollback: 5000, cursorBlink: false, minimumContrastRatio: 4.5, theme: theme(), fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--kw-mono") });
    this.fitting = new FitAddon();
    this.terminal.loadAddon(this.fitting);
    this.terminal.open(this.$el);
    this.terminal.textarea.setAttribute("aria-label", this.label);
    // Tab belongs to the shell; Shift+Tab leaves the terminal, so that the keyboard is not trapped.
    this.terminal.attachCustomKeyEventHandler((event) => !(event.key === "Tab" && event.shiftKey));
    this.terminal.onData((text) => this.$emit("typed", { text }));
    this.terminal.onResize(({ cols, rows }) => this.$emit("size", { cols, rows }));
    this.resized = new ResizeObserver(() => this.fitting.fit());
    this.resized.observe(this.$el);
    this.themed = new MutationObserver(() => (this.terminal.options.theme = theme()));
    this.themed.observe(document.body, { attributeFilter: ["class"] });
    this.fitting.fit();
    this.$emit("ready", { cols: this.terminal.cols, rows: this.terminal.rows });
  },
  unmounted() {
    this.resized?.disconnect();
    this.themed?.disconnect();
    this.terminal?.dispose();
  },
  methods: {
    /** Shows bytes, as base64. Returns when they were processed. */
    write(base64) {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      return new Promise((done) => this.terminal.write(bytes, done));
    },
    clear() {
      this.terminal.reset();
      this.terminal.focus();
    },
  },
};
