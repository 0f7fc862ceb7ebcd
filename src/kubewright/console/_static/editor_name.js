// Names the input of a code editor for screen readers. The browser creates it some time after the page.
const TRIES = 200;

export default {
  template: "<div hidden></div>",
  props: { editor: String, label: String },
  mounted() {
    this.name(TRIES);
  },
  methods: {
    name(left) {
      const input = document.querySelector(`#${this.editor} .cm-content`);
      if (input) input.setAttribute("aria-label", this.label);
      else if (left) setTimeout(() => this.name(left - 1), 50);
    },
  },
};
