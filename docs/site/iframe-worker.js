// Browsers start no worker from a disk. There, the worker that searches runs in a hidden frame of the page instead, so
// that a site that was never served can be searched. Frame and page send each other messages as they do with a worker.
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.ready = new Promise((done) => this.frame.addEventListener("ready", done)); // what is said before is kept
      const inside = this.frame.contentWindow;
      addEventListener("message", (event) => {
        if (event.source === inside) this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      inside.document.open();
      inside.document.write(`<script>
        postMessage = (data) => parent.dispatchEvent(new MessageEvent("message", { data, source: window }));
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done) => {
          const script = document.createElement("script");
          Object.assign(script, { src: url, onload: done });
          document.body.append(script);
        })), Promise.resolve());
      <\/script><script src="${new URL(url, location)}"><\/script>
        <script>frameElement.dispatchEvent(new Event("ready"))<\/script>`);
      inside.document.close();
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  }
  window.IFrameWorker = window.Worker = FrameWorker;
}
