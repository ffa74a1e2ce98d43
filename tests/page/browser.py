"""Chromium without a window, spoken to over two pipes (its --remote-debugging-pipe)."""

import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium")


class Browser:
    """One tab. `problems` are the errors that the page met: exceptions, and what it logs as such."""

    def __init__(self, profile, width=1500, height=1400):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def take_pipes():  # Chromium reads from 3 and writes to 4.
            first, second = os.dup(to_read), os.dup(to_write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe",
             f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"],
            preexec_fn=take_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        self.problems = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def _message(self, deadline):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._read, 1 << 16)
            if not part:
                raise EOFError("Chromium has ended")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _call(self, method, session=None, **parameters):
        self._number += 1
        call = {"id": self._number, "method": method, "params": parameters}
        if session:
            call["sessionId"] = session
        os.write(self._write, json.dumps(call).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            message = self._message(deadline)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]
            self._note(message)

    def _note(self, message):
        what, given = message.get("method"), message.get("params", {})
        if what == "Runtime.exceptionThrown":
            self.problems.append(given["exceptionDetails"].get("exception", given["exceptionDetails"]))
        elif what == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.problems.append(given["entry"]["text"])
        elif what == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
            self.problems.append(given["args"])
        elif what == "Network.requestWillBeSent" and not given["request"]["url"].startswith(("file:", "data:", "about:")):
            self.problems.append("asks the network for " + given["request"]["url"])

    def __call__(self, method, **parameters):
        return self._call(method, session=self._session, **parameters)

    def run(self, script):
        """The value of an expression in the page."""
        result = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def wait(self, condition):
        deadline = time.monotonic() + 60
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not '{condition}' within 60 s; {self.problems}")
            time.sleep(0.05)

    def open(self, url, until):
        self("Page.navigate", url=url)
        self.wait(until)

    def mouse(self, kind, x, y, **more):
        self("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        """A click of the mouse on the middle of an element."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def type(self, selector, text):
        """Replaces what a field holds by the keyboard."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.run("document.activeElement.select()")
        self("Input.insertText", text=text)

    def close(self):
        try:
            self._call("Browser.close")
        except (EOFError, OSError):
            pass
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
