// How the page looks: light and dark, wide and narrow. Nothing is fetched: no font, no image, no script.

export const STYLE = `
:root{--bg:#fff;--fg:#1b1f24;--dim:#59636e;--line:#d1d9e0;--card:#f6f8fa;--good:#1a7f37;--bad:#cf222e;--warn:#9a6700;
--c0:#0072b2;--c1:#e69f00;--c2:#009e73;--c3:#d55e00;--c4:#cc79a7;--c5:#56b4e9}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;--line:#3d444d;--card:#151b23;--good:#3fb950;--bad:#f85149;
--warn:#d29922;--c0:#58a6ff;--c1:#e3b341;--c2:#3fb991;--c3:#ff8a5b;--c4:#db8fc0;--c5:#7cc7f2}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1100px;padding:1rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;color-scheme:light dark}
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}h3{font-size:1rem;margin:1rem 0 .3rem}
p{margin:.4rem 0}.dim{color:var(--dim);font-size:.9rem}
ul.verdict{list-style:none;padding:0;margin:.5rem 0}ul.verdict li{background:var(--card);border-left:4px solid var(--dim);padding:.4rem .7rem;margin:.35rem 0;overflow-wrap:anywhere}
li.good{border-color:var(--good)!important}li.bad{border-color:var(--bad)!important}li.warn{border-color:var(--warn)!important}
.row{display:grid;grid-template-columns:minmax(5rem,11rem) 1fr minmax(5.5rem,15rem);gap:.6rem;align-items:center;padding:.15rem 0}
.row .name{overflow-wrap:anywhere}.row .value{font-variant-numeric:tabular-nums;font-size:.9rem}
@media (max-width:600px){.row{grid-template-columns:minmax(4rem,7rem) 1fr}.row .value{grid-column:1/-1;color:var(--dim);font-size:.85rem;margin-top:-.2rem}}
svg{display:block;width:100%;height:22px;background:var(--card)}
svg line{vector-effect:non-scaling-stroke}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.9rem;color:var(--dim)}.key i{display:inline-block;width:.8rem;height:.8rem;margin-right:.3rem;vertical-align:-1px}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}th,td{padding:.2rem .5rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}
pre{background:var(--card);padding:.6rem;overflow-x:auto;font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere}
summary{cursor:pointer;padding:.3rem 0}dl{display:grid;grid-template-columns:minmax(5rem,9rem) 1fr;gap:.2rem .8rem;margin:.3rem 0}dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
@media print{details{display:block}}
`.trim();
