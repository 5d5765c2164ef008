"use strict";
// Tables can be sorted by their headings and the first one filtered. Without this script they stand in a sensible order.
(() => {
  const words = new Intl.Collator(undefined, { numeric: true });

  // What a cell is sorted by: its number where it has one, else its text. Empty cells come last in either direction.
  const key = (row, column) => {
    const cell = row.cells[column];
    const given = cell.dataset.o;
    return given === undefined ? cell.textContent : Number(given);
  };

  const compared = (a, b, sign) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * words.compare(a, b);
  };

  const sort = (table, column, direction) => {
    const sign = direction === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [key(row, column), row]);
    rows.sort((one, other) => compared(one[0], other[0], sign)); // stable: equal ones stay in their order
    body.append(...rows.map((pair) => pair[1]));
    for (const heading of table.tHead.rows[0].cells) heading.removeAttribute("aria-sort");
    table.tHead.rows[0].cells[column].setAttribute("aria-sort", direction);
  };

  // On a narrow screen a row is a card, in which every cell says what it is; names become attribute values only.
  const label = (table) => {
    const names = Array.from(table.tHead.rows[0].cells, (heading) => heading.querySelector("button").textContent);
    for (const row of table.tBodies[0].rows) {
      Array.from(row.cells).forEach((cell, column) => {
        if (!cell.classList.contains("v")) cell.dataset.label = names[column];
      });
    }
    table.classList.add("cards");
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    label(table);
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      const button = heading.querySelector("button");
      if (button === null) return;
      button.disabled = false;
      button.addEventListener("click", () => {
        const before = heading.getAttribute("aria-sort");
        sort(table, column, before === "ascending" ? "descending" : "ascending");
      });
    });
  }

  const box = document.getElementById("filter");
  const input = document.getElementById("filter-text");
  const told = document.getElementById("filter-told");
  const table = document.querySelector("#table table");
  if (box === null || input === null || told === null || table === null) return;
  const rows = Array.from(table.tBodies[0].rows, (row) => [
    row,
    (row.cells[0].textContent + "\n" + row.cells[1].textContent).toLowerCase(),
  ]);
  const filter = () => {
    const wanted = input.value.trim().toLowerCase();
    let kept = 0;
    for (const [row, text] of rows) {
      row.hidden = !text.includes(wanted);
      if (!row.hidden) kept += 1;
    }
    told.textContent = wanted === "" ? "" : `${kept} of ${rows.length} rows`;
  };
  input.addEventListener("input", filter);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      filter();
    }
  });
  box.hidden = false;
})();
