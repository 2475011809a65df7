"use strict";
(function () {
  const dash = "\u2013";
  const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  function text(value, kind) {
    if (value === null || value === "") return dash;
    if (Array.isArray(value)) return value.length ? value.join("; ") : dash;
    if (typeof value === "string") return value;
    if (kind === "percent") return (100 * value).toFixed(1) + "%";
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return order.compare(Array.isArray(a) ? a.join("; ") : String(a), Array.isArray(b) ? b.join("; ") : String(b));
  }

  function copy(words, done) {
    const area = document.createElement("textarea");
    area.value = words;
    area.setAttribute("aria-hidden", "true");
    document.body.append(area);
    area.select();
    const worked = document.execCommand("copy");
    area.remove();
    if (worked) done();
    else if (navigator.clipboard) navigator.clipboard.writeText(words).then(done, function () {});
  }

  function start(grid) {
    const data = JSON.parse(grid.querySelector("script").textContent);
    const body = grid.querySelector("tbody");
    const heads = Array.from(grid.querySelectorAll("th"));
    const filter = grid.querySelector(".filter");
    const choices = Array.from(grid.querySelectorAll(".choice"));
    const count = grid.querySelector(".told");
    const pager = grid.querySelector(".pager");
    const titles = heads.map((head) => head.textContent);
    let column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
    let falling = false;
    let page = 0;
    data.rows.forEach((row) => {
      data.kinds.forEach((kind, i) => {
        if (kind === "choice") row[i] = data.words[row[i]];
        if (kind === "names") row[i] = row[i].map((part) => Array.isArray(part) ? data.words[part[0]] + " (" + text(part[1], "percent") + ")" : part);
      });
    });
    let rows = data.rows;

    function cells(row) {
      return row.map((value, i) => text(value, data.kinds[i]));
    }

    function draw() {
      const pages = Math.max(1, Math.ceil(rows.length / data.shown));
      page = Math.min(page, pages - 1);
      const shown = rows.slice(page * data.shown, (page + 1) * data.shown);
      body.replaceChildren(...shown.map((row) => {
        const line = document.createElement("tr");
        cells(row).forEach((words, i) => {
          const cell = document.createElement("td");
          cell.className = data.kinds[i];
          (Array.isArray(row[i]) && row[i].length ? row[i] : [words]).forEach((part) => {
            const inner = document.createElement("bdi");
            inner.textContent = part;
            if (part.length > 60) inner.title = part;
            cell.append(inner);
          });
          line.append(cell);
        });
        return line;
      }));
      pager.hidden = pages === 1;
      pager.querySelector(".where").textContent = "Page " + (page + 1) + " of " + pages;
      pager.querySelector(".back").disabled = page === 0;
      pager.querySelector(".on").disabled = page === pages - 1;
      count.textContent = rows.length === data.rows.length
        ? (rows.length === 1 ? "1 row" : rows.length + " rows")
        : rows.length + " of " + data.rows.length + " rows";
    }

    function select() {
      const wanted = filter ? filter.value.trim().toLocaleLowerCase() : "";
      rows = data.rows.filter((row) => {
        for (const choice of choices) {
          if (choice.value && String(row[choice.dataset.column]) !== choice.value) return false;
        }
        return !wanted || cells(row).some((words) => words.toLocaleLowerCase().includes(wanted));
      });
      if (column >= 0) {
        const empty = (value) => value === null || value === "";
        rows.sort((a, b) => {
          const x = a[column], y = b[column];
          if (empty(x) || empty(y)) return empty(x) - empty(y);
          return falling ? compare(y, x) : compare(x, y);
        });
      }
      page = 0;
      draw();
    }

    grid.querySelector(".tools").hidden = false;
    if (!grid.classList.contains("plain")) {
      heads.forEach((head, i) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = titles[i];
        head.replaceChildren(button);
        button.addEventListener("click", () => {
          falling = column === i ? !falling : ["number", "percent", "count"].includes(data.kinds[i]);
          column = i;
          heads.forEach((other) => other.removeAttribute("aria-sort"));
          head.setAttribute("aria-sort", falling ? "descending" : "ascending");
          select();
        });
      });
    }
    let waiting = 0;
    if (filter) filter.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(select, data.rows.length > 2000 ? 150 : 0);
    });
    choices.forEach((choice) => choice.addEventListener("change", select));
    pager.querySelector(".back").addEventListener("click", () => { page -= 1; draw(); });
    pager.querySelector(".on").addEventListener("click", () => { page += 1; draw(); });
    grid.querySelector(".copy").addEventListener("click", () => {
      const lines = [titles, ...rows.map((row) => row.map((value) => value === null ? "" : Array.isArray(value) ? value.join("; ") : String(value)))];
      const words = lines.map((line) => line.map((cell) => cell.replace(/[\t\r\n]+/g, " ")).join("\t")).join("\n");
      copy(words, () => { count.textContent = rows.length + (rows.length === 1 ? " row" : " rows") + " copied"; });
    });
    draw();
  }

  document.querySelectorAll(".grid").forEach(start);
})();
