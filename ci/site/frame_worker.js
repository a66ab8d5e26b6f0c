"use strict";
// A browser starts no worker for a page that is a file. This runs the worker's script in a frame, so that the search works there.
if (location.protocol === "file:") window.Worker = class extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe"), script = document.createElement("script");
    frame.hidden = true;
    document.body.append(frame);
    this.inside = frame.contentWindow;
    this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
    this.started = new Promise(go => { script.onload = go; });
    script.src = url;
    frame.contentDocument.body.append(script);
  }
  postMessage(data) { this.started.then(() => this.inside.dispatchEvent(new MessageEvent("message", {data}))); }
  terminate() { this.inside.frameElement.remove(); }
};
