// The reports of a verdict: what they say, that they fit, and that nothing unknown is printed as a number.

import pc from 'picocolors';
import { expect, test } from 'vitest';
import { markdownReport } from '../../src/report/markdown.ts';
import { inLook } from '../../src/report/paint.ts';
import { evening, LOOK, made, terminal } from './helpers/evening.ts';

test('what may be concluded stands beside the device, on every page', () => {
  const subject = 'synthetic subject: speed only, acceptance assumed';
  const { plan, verdict } = made({ subject: () => subject });
  const head = `device host · ${subject} · `;
  expect(terminal({ subject: () => subject })).toContain(head);
  expect(markdownReport(plan, verdict)).toContain(head);
});

test('the whole page in a terminal', () => {
  expect(terminal(evening)).toMatchInlineSnapshot(`
    "made-up  folder
    device host · 4 blocks, balanced order · 16 of 16 runs · memory 0.200 GB/s · file 1.90 GB/s

    class        arm   tok/s  × base  interval     speed     output    tok/pass  ms/pass  prefill tok/s  TTFT ms  load s
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    enumeration  base  313.1       –               baseline  L0            1.60     5.03          400.0    55.00    1.50
                 ram   716.1   2.29×  2.25–2.32    faster    L0            1.60     2.20          400.0    55.00    1.50
                 t1    194.6  0.622×  0.613–0.630  slower    L0            1.60     8.09          400.0    55.00    1.50
                 bias  407.0   1.30×  1.28–1.32    faster    L3 lossy      1.60     3.87          400.0    55.00    1.50

    prose        base  203.0       –               baseline  L0            1.60     7.76          400.0    55.00    1.50
                 ram   464.3   2.29×  2.25–2.32    faster    L0            1.60     3.39          400.0    55.00    1.50
                 t1    126.2  0.622×  0.613–0.630  slower    L0            1.60    12.48          400.0    55.00    1.50
                 bias  263.9   1.30×  1.28–1.32    faster    L3 lossy      1.60     5.97          400.0    55.00    1.50

    code         base  242.4       –               baseline  L0            1.60     6.50          400.0    55.00    1.50
                 ram   554.4   2.29×  2.25–2.32    faster    L0            1.60     2.84          400.0    55.00    1.50
                 t1    150.7  0.622×  0.613–0.630  slower    L0            1.60    10.45          400.0    55.00    1.50
                 bias  315.1   1.30×  1.28–1.32    faster    L3 lossy      1.60     5.00          400.0    55.00    1.50

    class        arm   lookups   hit  pcie   cpu  file  skipped  hit share  accepted  host MB/token  ceiling tok/s   of it
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    enumeration  base     6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  22.4 %
                 ram      6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  51.1 %
                 t1       6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  13.9 %
                 bias     6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  29.1 %

    prose        base     6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  14.5 %
                 ram      6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  33.2 %
                 t1       6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400   9.0 %
                 bias     6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  18.9 %

    code         base     6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  17.3 %
                 ram      6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  39.6 %
                 t1       6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  10.8 %
                 bias     6400  2400     0  3200   800        0     37.5 %    38.3 %          0.159           1400  22.5 %

    class        arm   host GB/s  file MB/token  file GB/s  binds
    ─────────────────────────────────────────────────────────────
    enumeration  base      0.045          0.016    0.00497  host
                 ram       0.102          0.016      0.011  host
                 t1        0.028          0.016    0.00309  host
                 bias      0.058          0.016    0.00646  host

    prose        base      0.029          0.016    0.00322  host
                 ram       0.066          0.016    0.00737  host
                 t1        0.018          0.016    0.00200  host
                 bias      0.038          0.016    0.00419  host

    code         base      0.035          0.016    0.00385  host
                 ram       0.079          0.016    0.00880  host
                 t1        0.022          0.016    0.00239  host
                 bias      0.045          0.016    0.00500  host

    class        arm   output  other ids  parts at  gap nat  Δ tokens       ppl     top-1  Δln tok/s  = tok/pass  − ms/pass
    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    enumeration  base  L0              –         –        –         –         –         –          –           –          –
                 ram   L0         0 of 8         –        –       n/a  unscored  unscored     +0.827      +0.000     −0.827
                 t1    L0         0 of 8         –        –       n/a  unscored  unscored     −0.476      +0.000     +0.476
                 bias  L3         8 of 8   token 1      n/a       n/a  unscored  unscored     +0.262      +0.000     −0.262

    prose        base  L0              –         –        –         –         –         –          –           –          –
                 ram   L0         0 of 8         –        –       n/a  unscored  unscored     +0.827      +0.000     −0.827
                 t1    L0         0 of 8         –        –       n/a  unscored  unscored     −0.476      +0.000     +0.476
                 bias  L3         8 of 8   token 1      n/a       n/a  unscored  unscored     +0.262      +0.000     −0.262

    code         base  L0              –         –        –         –         –         –          –           –          –
                 ram   L0         0 of 8         –        –       n/a  unscored  unscored     +0.827      +0.000     −0.827
                 t1    L0         0 of 8         –        –       n/a  unscored  unscored     −0.476      +0.000     +0.476
                 bias  L3         8 of 8   token 1      n/a       n/a  unscored  unscored     +0.262      +0.000     −0.262

    all classes · ram   same output, 2.29× faster (2.26–2.31)
    all classes · t1    same output, slower: 0.622× (0.614–0.629)
    all classes · bias  [lossy: route-bias] changed output and 1.30× faster (1.29–1.31): a trade, not a win
    enumeration · ram   same output, 2.29× faster (2.25–2.32)
    enumeration · t1    same output, slower: 0.622× (0.613–0.630)
    enumeration · bias  [lossy: route-bias] changed output and 1.30× faster (1.28–1.32): a trade, not a win; unscored
    prose · ram         same output, 2.29× faster (2.25–2.32)
    prose · t1          same output, slower: 0.622× (0.613–0.630)
    prose · bias        [lossy: route-bias] changed output and 1.30× faster (1.28–1.32): a trade, not a win; unscored
    code · ram          same output, 2.29× faster (2.25–2.32)
    code · t1           same output, slower: 0.622× (0.613–0.630)
    code · bias         [lossy: route-bias] changed output and 1.30× faster (1.28–1.32): a trade, not a win; unscored

    what bounds each arm
    base  file 0.00389 of 1.90 GB/s; others 1 % of all cores
    ram   file 0.00889 of 1.90 GB/s; others 1 % of all cores
    t1    file 0.00242 of 1.90 GB/s; others 1 % of all cores
    bias  file 0.00506 of 1.90 GB/s; others 1 % of all cores

    spread: enumeration 0.6 % between runs, 0.5 % between blocks, 0 % between requests of a run · prose 0.6 % between runs,
      0.5 % between blocks, 0 % between requests of a run · code 0.6 % between runs, 0.5 % between blocks, 0 % between
      requests of a run

    ! measured on the host device: host numbers are not GPU numbers

    tok/s: (tokens − 1) / (last − first token), a run at a time, geometric mean over blocks · × base: paired by block;
      interval at the level at which Dunnett’s test decides it (95 % over 9 comparisons) · all classes: each with the same
      weight · MB: a million bytes · host, file GB/s: what the rate asks of the measured bandwidths; binds: which takes
      longest · ceiling: bytes per token over the measured bandwidth of the channel that takes longest · Δ tokens: answers
      up to the end token, less the baseline's · ppl, top-1: perplexity against the baseline and places with the same
      likeliest token, in fixed texts that were not measured · Δln tok/s = Δln tok/pass − Δln ms/pass · L0 same output, L1
      same tokens by another path, L2 rounding, L3 changed, LX not verified
    "
  `);
});

test('it fits 120 columns', () => {
  for (const line of terminal(evening).split('\n')) expect(line.length, line).toBeLessThanOrEqual(120);
});

test('words fold at the width of a narrow terminal, tables stay whole', () => {
  const lines = terminal(evening, { ...LOOK, width: 80 }).split('\n');
  for (const line of lines.filter((each) => each.startsWith('!') || each.includes(' · '))) {
    expect(line.length, line).toBeLessThanOrEqual(80);
  }
});

test('plain ASCII on request, for everything that Rota writes', () => {
  expect(terminal(evening, { ...LOOK, ascii: true })).toMatch(/^[\n\x20-\x7e]*$/);
  expect(inLook('模型 2×', { ...LOOK, ascii: true })).toBe('模型 2x');
});

test('colours only change colours', () => {
  const colored = terminal(evening, { ...LOOK, paint: pc.createColors(true) });
  expect(colored).toContain('\u001b[32mfaster\u001b[39m');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences are what is removed
  expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(terminal(evening));
});

test('what is unknown is n/a, never 0', () => {
  const text = terminal({
    device: 'cuda:0',
    ceilings: [null, null],
    answer: () => ({
      decodeMs: null,
      ids: null,
      counters: {
        passes: null,
        rows: null,
        lookups: null,
        bySource: { hit: null, pcie: null, cpu: null, file: null, skipped: null },
        bytes: { hit: null, pcie: null, cpu: null, file: null, dense: null, engram: null },
        offered: null,
        accepted: null,
        late: null,
      },
    }),
  });
  expect(
    text.split('\n').filter((line) => line.includes(' base ') || line.includes(' fast ')),
  ).toMatchInlineSnapshot(`
    [
      "class  arm   tok/s  × base  interval  speed         output  tok/pass  ms/pass  prefill tok/s  TTFT ms  load s",
      "prose  base    n/a       –            baseline      L0           n/a      n/a          400.0    55.00    1.50",
      "       fast    n/a     n/a            inconclusive  LX           n/a      n/a          400.0    55.00    1.50",
      "prose  base      n/a  n/a   n/a  n/a   n/a      n/a        n/a            n/a            n/a    n/a",
      "       fast      n/a  n/a   n/a  n/a   n/a      n/a        n/a            n/a            n/a    n/a",
      "prose  base  L0              –         –        –         –         –         –          –           –          –",
      "       fast  LX         0 of 8         –        –       n/a  unscored  unscored        n/a         n/a        n/a",
      "prose · fast  output not verified; speed not measured: the engine does not report decode times (the engine does not give",
    ]
  `);
  expect(text).not.toMatch(/\bNaN\b|Infinity|null|undefined/);
});

test('a device of its own has its own bytes', () => {
  expect(terminal({ device: 'cuda:0' })).toContain('device MB/token');
  expect(terminal({})).not.toContain('device MB/token');
});

test('Markdown: rows that stay rows, whatever an arm is called', () => {
  const { plan, verdict } = made({ ...evening, classes: ['prose'] });
  expect(markdownReport(plan, verdict)).toMatchInlineSnapshot(`
    "## made-up

    device host · 4 blocks, balanced order · 16 of 16 runs · memory 0.200 GB/s · file 1.90 GB/s

    | class | arm | tok/s | × base | interval | speed | output | tok/pass | ms/pass | prefill tok/s | TTFT ms | load s |
    | --- | --- | ---: | ---: | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
    | prose | base | 203.0 | – |  | baseline | L0 | 1.60 | 7.76 | 400.0 | 55.00 | 1.50 |
    | prose | ram | 464.3 | 2.29× | 2.26–2.31 | faster | L0 | 1.60 | 3.39 | 400.0 | 55.00 | 1.50 |
    | prose | t1 | 126.2 | 0.622× | 0.614–0.629 | slower | L0 | 1.60 | 12.48 | 400.0 | 55.00 | 1.50 |
    | prose | bias | 263.9 | 1.30× | 1.29–1.31 | faster | L3 lossy | 1.60 | 5.97 | 400.0 | 55.00 | 1.50 |

    | class | arm | lookups | hit | pcie | cpu | file | skipped | hit share | accepted | host MB/token | ceiling tok/s | of it |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | prose | base | 6400 | 2400 | 0 | 3200 | 800 | 0 | 37.5 % | 38.3 % | 0.159 | 1400 | 14.5 % |
    | prose | ram | 6400 | 2400 | 0 | 3200 | 800 | 0 | 37.5 % | 38.3 % | 0.159 | 1400 | 33.2 % |
    | prose | t1 | 6400 | 2400 | 0 | 3200 | 800 | 0 | 37.5 % | 38.3 % | 0.159 | 1400 | 9.0 % |
    | prose | bias | 6400 | 2400 | 0 | 3200 | 800 | 0 | 37.5 % | 38.3 % | 0.159 | 1400 | 18.9 % |

    | class | arm | host GB/s | file MB/token | file GB/s | binds |
    | --- | --- | ---: | ---: | ---: | --- |
    | prose | base | 0.029 | 0.016 | 0.00322 | host |
    | prose | ram | 0.066 | 0.016 | 0.00737 | host |
    | prose | t1 | 0.018 | 0.016 | 0.00200 | host |
    | prose | bias | 0.038 | 0.016 | 0.00419 | host |

    | class | arm | output | other ids | parts at | gap nat | Δ tokens | ppl | top-1 | Δln tok/s | = tok/pass | − ms/pass |
    | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | prose | base | L0 | – | – | – | – | – | – | – | – | – |
    | prose | ram | L0 | 0 of 8 | – | – | n/a | unscored | unscored | +0.827 | +0.000 | −0.827 |
    | prose | t1 | L0 | 0 of 8 | – | – | n/a | unscored | unscored | −0.476 | +0.000 | +0.476 |
    | prose | bias | L3 | 8 of 8 | token 1 | n/a | n/a | unscored | unscored | +0.262 | +0.000 | −0.262 |

    - **prose · ram**: same output, 2.29× faster (2.26–2.31)
    - **prose · t1**: same output, slower: 0.622× (0.614–0.629)
    - **prose · bias**: \\[lossy: route-bias\\] changed output and 1.30× faster (1.29–1.31): a trade, not a win; unscored

    - what bounds **base**: file 0.00322 of 1.90 GB/s; others 1 % of all cores
    - what bounds **ram**: file 0.00737 of 1.90 GB/s; others 1 % of all cores
    - what bounds **t1**: file 0.00200 of 1.90 GB/s; others 1 % of all cores
    - what bounds **bias**: file 0.00419 of 1.90 GB/s; others 1 % of all cores

    spread: prose 0.6 % between runs, 0.5 % between blocks, 0 % between requests of a run

    > measured on the host device: host numbers are not GPU numbers

    <sub>tok/s: (tokens − 1) / (last − first token), a run at a time, geometric mean over blocks · × base: paired by block; interval at the level at which Dunnett’s test decides it (95 % over 3 comparisons) · MB: a million bytes · host, file GB/s: what the rate asks of the measured bandwidths; binds: which takes longest · ceiling: bytes per token over the measured bandwidth of the channel that takes longest · Δ tokens: answers up to the end token, less the baseline's · ppl, top-1: perplexity against the baseline and places with the same likeliest token, in fixed texts that were not measured · Δln tok/s = Δln tok/pass − Δln ms/pass · L0 same output, L1 same tokens by another path, L2 rounding, L3 changed, LX not verified</sub>
    "
  `);
  const odd = { ...verdict, arms: verdict.arms.map((row) => ({ ...row, arm: 'a|b*`c`\n<d>' })) };
  const rows = markdownReport(plan, odd)
    .split('\n')
    .filter((line) => line.startsWith('| prose'));
  expect(rows).toHaveLength(16);
  expect(rows[0]).toContain('a\\|b\\*\\`c\\` \\<d\\>');
});
