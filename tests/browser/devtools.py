"""A page in Debian's chromium that a test clicks through: DevTools over two pipes, without a port and a library."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--window-size=1300,1100",
    "--hide-scrollbars",
)

CONTRAST = """(() => {
  const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const back = element => {
    for (let one = element; one; one = one.parentElement) {
      const found = channels(getComputedStyle(one).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
      if (found[3] > 0) return null;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ["SCRIPT", "TITLE", "title"].includes(element.tagName) || !element.getClientRects().length) continue;
    const style = getComputedStyle(element), behind = back(element);
    const front = channels(element.closest("svg") ? style.fill : style.color);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen++;
    if (!behind) { poor.push("no plain background: " + node.data.trim().slice(0, 60)); continue; }
    const [a, b] = [light(front), light(behind)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) poor.push(`${ratio.toFixed(2)} ${style.color} on ${behind}: ${node.data.trim().slice(0, 60)}`);
  }
  return {seen, poor};
})()"""
"""Text whose contrast is below what WCAG AA asks for, of all text of the page that is seen."""


class Browser:
    """A tab. `evaluate` runs a script and returns its value."""

    def __init__(self, profile: Path):
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def hand_over() -> None:
            incoming, outgoing = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(incoming, 3)
            os.dup2(outgoing, 4)

        assert CHROMIUM is not None
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        self._process = subprocess.Popen(
            command, preexec_fn=hand_over, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest, self._number, self.request_of, self.errors = b"", 0, [], []
        tabs = self._call("Target.getTargets", {}, "")["targetInfos"]
        tab = next(one for one in tabs if one["type"] == "page")
        self._session = self._call("Target.attachToTarget", {"targetId": tab["targetId"], "flatten": True}, "")["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._call(method, params, self._session)

    def open(self, path: Path, width: int = 1400, height: int = 1000, scheme: str = "light") -> None:
        """Show a file in a window of this size, whose system prefers this colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.request_of.clear()
        self.errors.clear()
        self.call("Page.navigate", url=f"file://{path}")
        self.evaluate("new Promise(go => document.readyState === 'complete' ? go() : addEventListener('load', go))")
        self.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")

    def evaluate(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, selector: str, number: int = 0) -> None:
        """Click into the middle of an element as a mouse does."""
        find = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        place = f"(() => {{ const one = {find}; one.scrollIntoView({{block: 'center'}}); const r = one.getBoundingClientRect();"
        at = self.evaluate(place + " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def press(self, key: str, code: int = 0) -> None:
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        given: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def photograph(self, file: Path) -> None:
        """Write a picture of the whole page."""
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 6000), "scale": 1}
        picture = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(picture["data"]))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def _call(self, method: str, params: dict[str, Any], session: str) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("method") == "Network.requestWillBeSent":
                self.request_of.append(answer["params"]["request"]["url"])
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(answer["params"]["exceptionDetails"]["exception"]["description"])
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._in, 1 << 16)
            assert part, "chromium ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)
