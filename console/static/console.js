// Shows times in the viewer's time zone, filters tables, copies texts, and sends forms by Ctrl-Enter.
"use strict";

function showTimes(root) {
  for (const each of root.querySelectorAll("time[datetime]:not([data-shown])")) {
    const when = new Date(each.dateTime);
    if (isNaN(when)) continue;
    const two = (n) => String(n).padStart(2, "0");
    const day = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
    const hour = `${two(when.getHours())}:${two(when.getMinutes())}:${two(when.getSeconds())}`;
    const isToday = when.toDateString() === new Date().toDateString();
    each.title = each.textContent;
    each.textContent = isToday ? hour : `${day} ${hour}`;
    each.dataset.shown = "";
  }
}

function filterRows(input) {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of document.querySelectorAll(input.dataset.filter)) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
}

document.addEventListener("input", (event) => {
  if (event.target.dataset && event.target.dataset.filter) filterRows(event.target);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  navigator.clipboard.writeText(button.dataset.copy).then(() => { button.textContent = "Copied"; });
});
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target.form)
    event.target.form.requestSubmit();
});
document.addEventListener("DOMContentLoaded", () => showTimes(document));
document.addEventListener("htmx:load", (event) => showTimes(event.target));
