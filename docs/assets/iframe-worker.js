// Search from files. Browsers start no worker from a file (file://), where the theme's search runs in one: its script runs
// in a frame without content instead, which gets and sends the same messages. Of a web server nothing is changed.
// The theme's plugin `offline` does the rest, and takes this file for its own by the name.
if (location.protocol === "file:") {
  globalThis.Worker = class extends EventTarget {
    #waiting = [];
    #scope = null;

    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.head.append(frame);
      const scope = frame.contentWindow;
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(address, location);
      script.onload = () => {
        this.#scope = scope;
        for (const data of this.#waiting.splice(0)) this.postMessage(data);
      };
      frame.contentDocument.head.append(script);
    }

    postMessage(data) {
      if (this.#scope) this.#scope.dispatchEvent(new MessageEvent("message", { data }));
      else this.#waiting.push(data);
    }
  };
}
