// Saves text as a file in the browser, so that the server stores nothing.
export default {
  template: "<div hidden></div>",
  methods: {
    save(name, text) {
      const link = document.createElement("a");
      link.download = name;
      link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
      link.click();
      URL.revokeObjectURL(link.href);
    },
  },
};
