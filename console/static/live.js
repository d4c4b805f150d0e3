// Shows each picture that the console sends. The focused element keeps the focus.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const pause = document.getElementById("pause");
  const lost = document.getElementById("lost");
  const source = new EventSource(live.dataset.events);
  source.onmessage = (event) => {
    lost.hidden = true;
    if (pause.getAttribute("aria-pressed") === "true") return;
    const focused = live.contains(document.activeElement) ? document.activeElement : null;
    const key = focused && (focused.id ? `#${CSS.escape(focused.id)}` : `[href="${CSS.escape(focused.getAttribute("href") || "")}"]`);
    live.innerHTML = JSON.parse(event.data);
    htmx.process(live);
    if (key) live.querySelector(key)?.focus();
  };
  source.onerror = () => { lost.hidden = false; };
  source.onopen = () => { lost.hidden = true; };
  pause.addEventListener("click", () => {
    const paused = pause.getAttribute("aria-pressed") !== "true";
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Continue" : "Pause";
  });
});
