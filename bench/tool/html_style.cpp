// The report's style sheet and its small script, as text: the report is one file without network.
#include "bench/tool/html_style.hpp"

namespace rondo::bench {

// Series colours differ in lightness too, so that they can be told apart without colour; Rondo's
// own first line is the strongest.
const char* const report_style = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2430;--soft:#5b6675;--rule:#dfe4ea;--card:#f6f8fa;--accent:#0b62c4;
--good:#12733a;--bad:#b3261e;--c0:#0b62c4;--c1:#d1590b;--c2:#12805c;--c3:#a3307f;--c4:#7a6200;--c5:#5a4fcf;--c6:#b3261e;--c7:#3d7a99;
--p0:#6b7684;--p1:#8a5a2b;--p2:#3f7f7a;--p3:#97305a;--limit:#1c2430;--h0:#d7ecd9;--h1:#eef3d3;--h2:#fbeec6;--h3:#f9dcc0;--h4:#f4c7be}
@media (prefers-color-scheme:dark){:root{--paper:#12161c;--ink:#e6eaf0;--soft:#9aa6b5;--rule:#2c343f;--card:#1a2029;--accent:#6fb0ff;
--good:#6fd08c;--bad:#ff8a80;--c0:#6fb0ff;--c1:#ffa15c;--c2:#56d3a5;--c3:#ef8fd0;--c4:#e3c95a;--c5:#a9a2ff;--c6:#ff8a80;--c7:#86c5e0;
--p0:#aab4c0;--p1:#d9a877;--p2:#7fd0c9;--p3:#f08fb5;--limit:#e6eaf0;--h0:#1d4a2b;--h1:#3a4a1d;--h2:#544715;--h3:#5a3a1a;--h4:#5c2a24}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:75rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.2rem;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--rule)}
p{margin:.4rem 0 .8rem;max-width:46rem}
.soft,figcaption small{color:var(--soft)}
.verdict{font-size:1.15rem;font-weight:600;padding:.7rem .9rem;background:var(--card);border-left:4px solid var(--good);border-radius:4px;max-width:none}
.verdict.bad{border-color:var(--bad)}
a{color:var(--accent)}
a:focus-visible,svg:focus-visible,summary:focus-visible,.scroll:focus-visible,input:focus-visible+label{outline:3px solid var(--accent);outline-offset:2px}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;list-style:none}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,25rem),1fr));gap:1rem}
.chart{margin:0;padding:.8rem;max-width:44rem;background:var(--card);border-radius:6px}
.chart figcaption{font-weight:600;margin-bottom:.3rem}
.chart>svg{display:block;width:100%;height:auto}
.chart text{fill:var(--soft);font-size:13px}
.chart .unit{font-size:13px}
.grid{stroke:var(--rule)}.tick{stroke:var(--soft)}.cursor{stroke:var(--soft);stroke-dasharray:3 3}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.s0 .line{stroke:var(--c0);stroke-width:3.2}.s0 circle{fill:var(--c0)}
.s1 .line{stroke:var(--c1)}.s1 circle{fill:var(--c1)}.s2 .line{stroke:var(--c2)}.s2 circle{fill:var(--c2)}
.s3 .line{stroke:var(--c3)}.s3 circle{fill:var(--c3)}.s4 .line{stroke:var(--c4)}.s4 circle{fill:var(--c4)}
.s5 .line{stroke:var(--c5)}.s5 circle{fill:var(--c5)}.s6 .line{stroke:var(--c6)}.s6 circle{fill:var(--c6)}
.s7 .line{stroke:var(--c7)}.s7 circle{fill:var(--c7)}
.p0 .line,.p1 .line,.p2 .line,.p3 .line{stroke-dasharray:10 4 2 4}
.p0 .line{stroke:var(--p0)}.p0 circle{fill:var(--p0)}.p1 .line{stroke:var(--p1)}.p1 circle{fill:var(--p1)}
.p2 .line{stroke:var(--p2)}.p2 circle{fill:var(--p2)}.p3 .line{stroke:var(--p3)}.p3 circle{fill:var(--p3)}
.limit .line{stroke:var(--limit);stroke-dasharray:7 4}.limit circle{fill:var(--limit);r:2}
.legend{display:flex;flex-wrap:wrap;gap:.1rem 1rem;font-size:.85rem}
.legend svg{width:26px;height:10px;margin-right:.35rem}
.readout{min-height:1.5em;margin:.3rem 0 0;font-size:.85rem;color:var(--soft);font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:600;vertical-align:bottom}th:first-child,td:first-child{text-align:left}
thead th{border-bottom:2px solid var(--soft)}
.text{text-align:left}
.h0{background:var(--h0)}.h1{background:var(--h1)}.h2{background:var(--h2)}.h3{background:var(--h3)}.h4{background:var(--h4)}
.chosen{box-shadow:inset 0 0 0 2px var(--ink);font-weight:600}
.bad-cell{color:var(--bad);font-weight:700}
.topology{background:#fff;border-radius:6px;padding:.5rem;overflow-x:auto}
.topology svg{max-width:100%;height:auto;min-width:20rem}
summary{cursor:pointer}
.half{display:none}
.tabs>input{position:absolute;opacity:0;pointer-events:none}
.tabs>label{display:inline-block;padding:.3rem .8rem;margin:0 .3rem .7rem 0;border:1px solid var(--rule);border-radius:99px;cursor:pointer}
.tabs>input:checked+label{background:var(--ink);color:var(--paper);border-color:var(--ink)}
#tab-out:checked~.half-out,#tab-in:checked~.half-in{display:block}
@media print{.half{display:block!important}.tabs>label{display:none}}
)css";

// Arrow keys and the pointer move a cursor over the charts and read the values out.
const char* const report_script = R"js(
"use strict";
for (const figure of document.querySelectorAll(".chart")) {
  const svg = figure.querySelector("svg"), out = figure.querySelector(".readout"), cursor = svg.querySelector(".cursor");
  const byX = new Map();
  for (const point of svg.querySelectorAll("circle")) {
    const x = point.dataset.x;
    if (!byX.has(x)) byX.set(x, []);
    byX.get(x).push(point);
  }
  const xs = [...byX.keys()].sort((a, b) => a - b);
  let at = -1;
  const size = bytes => {
    let unit = 0;
    while (bytes >= 1024 && unit < 4) { bytes /= 1024; ++unit; }
    return +bytes.toPrecision(4) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
  };
  const show = index => {
    at = Math.max(0, Math.min(xs.length - 1, index));
    const points = byX.get(xs[at]);
    cursor.setAttribute("x1", points[0].getAttribute("cx"));
    cursor.setAttribute("x2", points[0].getAttribute("cx"));
    const where = figure.dataset.x === "gpus" ? xs[at] + " GPUs" : size(+xs[at]);
    out.textContent = where + ": " + points.map(p => p.parentNode.dataset.name + " " + +(+p.dataset.y).toPrecision(4)).join(", ");
  };
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1, Home: -xs.length, End: xs.length}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(at < 0 ? (step < 0 ? xs.length - 1 : 0) : at + step);
  });
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    let best = 0;
    xs.forEach((value, index) => {
      const d = i => Math.abs(byX.get(xs[i])[0].getAttribute("cx") - x);
      if (d(index) < d(best)) best = index;
    });
    show(best);
  });
}
)js";

}  // namespace rondo::bench
