// A run as one self-contained HTML page: the verdict first, then the figures, then who measured what, then every number. Fetches nothing.

import { commandLine } from '../../core/command-line.ts';
import { armLabel } from '../../core/records/arm-label.ts';
import type { JournalEvent } from '../../core/records/journal.ts';
import type { Plan } from '../../core/records/plan.ts';
import type { ArmClassVerdict, Verdict } from '../../core/records/verdict.ts';
import { calibrationText } from '../../core/verdict/calibration.ts';
import { type Column, costColumns, outputColumns, speedColumns, workColumns } from '../columns.ts';
import { NOT_KNOWN, number, share } from '../format.ts';
import { backgroundTexts, ENERGY_NOTE, legend, type NamedLine, namedLines, summary } from '../terminal.ts';
import { escaped, figure, table } from './draw.ts';
import { bytes, causes, effects, lookups, split } from './figures.ts';
import { measuredRuns, timeline } from './record-figures.ts';
import { STYLE } from './style.ts';

export function htmlReport(plan: Plan, verdict: Verdict, events: readonly JournalEvent[]): string {
  const runs = measuredRuns(plan, events);
  const parts = [
    header(plan, verdict),
    verdictSection(verdict),
    effects(verdict),
    timeline(runs),
    split(verdict),
    causes(verdict),
    bytes(verdict),
    lookups(verdict),
    bounds(verdict),
    energy(verdict),
    identity(plan, verdict, events),
    commands(plan),
    raw(verdict, runs),
  ];
  const title = escaped(`${plan.protocol}: ${verdict.runFolder}`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title><style>${STYLE}</style></head><body>
${parts.filter((part) => part !== '').join('\n')}
</body></html>
`;
}

function header(plan: Plan, verdict: Verdict): string {
  return `<h1>${escaped(plan.protocol)}</h1><p class="dim">${escaped(`${verdict.runFolder} · ${plan.createdUtc}`)}<br>${escaped(summary(plan, verdict).join(' · '))}</p>`;
}

function verdictSection(verdict: Verdict): string {
  const lines = namedLines(verdict).map((named) =>
    item(toneOf(named), `<b>${escaped(named.name)}</b> ${escaped(named.line)}`),
  );
  const warnings = verdict.warnings.map((text) => item('warn', escaped(text)));
  const { calibration } = verdict;
  const machine = [
    ...backgroundTexts(verdict),
    ...(calibration === undefined ? [] : [calibrationText(calibration)]),
  ];
  const notes = machine.map((text) => item('dim', escaped(text)));
  const list = (items: readonly string[]): string => `<ul class="verdict">${items.join('')}</ul>`;
  return `<section id="verdict"><h2>Verdict</h2>${list(lines)}${list(warnings)}${list(notes)}</section>`;
}

const item = (tone: string, html: string): string => `<li class="${tone}">${html}</li>`;

/** A changed or unverified output has the colour of a warning, whatever its speed; over all classes the worst of them counts. */
function toneOf({ speed, rows }: NamedLine): string {
  if (rows.some(({ output }) => output === 'L3' || output === 'LX')) return 'warn';
  return speed === 'slower' ? 'bad' : speed === 'faster' || speed === 'steadier' ? 'good' : '';
}

type Runs = ReturnType<typeof measuredRuns>;

function bounds({ bounds: all = [] }: Verdict): string {
  const rows = all.map(
    ({ arm, line }) => `<dt>${escaped(arm)}</dt><dd>${escaped(line === '' ? NOT_KNOWN : line)}</dd>`,
  );
  return `<section id="bounds"><h2>What bounds each arm</h2><dl>${rows.join('')}</dl></section>`;
}

function energy({ arms }: Verdict): string {
  const rows = arms.map(({ arm, class: name, joulesPerToken: joules }) => [
    name,
    arm,
    joules === undefined ? `${NOT_KNOWN}: no power was sampled` : `about ${number(joules)} J/token`,
  ]);
  return figure('energy', 'Energy per token', ENERGY_NOTE, table(['class', 'arm', 'J/token'], rows));
}

function identity(plan: Plan, verdict: Verdict, events: readonly JournalEvent[]): string {
  const session = events.find((event) => event.type === 'session');
  const ready = events.flatMap((event) => (event.type === 'ready' ? [event.ready] : []));
  const prints = [...new Set(ready.map(({ fingerprint }) => fingerprint ?? NOT_KNOWN))];
  const drafters = [...new Set(ready.flatMap(({ draftFingerprint }) => draftFingerprint ?? []))];
  const facts: [string, string][] = [
    ...machineFacts(session?.machine ?? null),
    ['device', verdict.device ?? NOT_KNOWN],
    ['model', [...new Set(plan.arms.map(({ model }) => model))].join(', ')],
    ['weights', prints.join(', ') || NOT_KNOWN],
    ...(drafters.length === 0 ? [] : [['drafter', drafters.join(', ')] as [string, string]]),
    [
      'engine',
      [
        ...new Set(
          plan.arms.map(({ engine, build }) => `${engine}${build === undefined ? '' : ` ${build.commit}`}`),
        ),
      ].join(', '),
    ],
    ['rota', plan.rota],
    ['protocol', `${plan.protocol} ${plan.protocolSha256}`],
    ['journal', verdict.journalSha256],
  ];
  const list = facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('');
  return `<section id="identity"><h2>Machine, model, engine</h2><dl>${list}</dl></section>`;
}

/** The card belongs to another room: what it holds is shown as it is. */
function machineFacts(machine: unknown): [string, string][] {
  if (typeof machine !== 'object' || machine === null) return [['machine', NOT_KNOWN]];
  return Object.entries(machine).flatMap(([name, value]): [string, string][] => {
    if (value === null) return [];
    const text =
      typeof value === 'object'
        ? JSON.stringify(value)
            .replace(/[{}"[\]]/g, '')
            .replaceAll(',', ', ')
        : String(value);
    return text === '' ? [] : [[name === 'key' ? 'machine' : name, text]];
  });
}

function commands(plan: Plan): string {
  const blocks = plan.arms.map((arm) => {
    const label = armLabel(arm) === '' ? '' : ` ${escaped(armLabel(arm))}`;
    const baseline = arm.name === plan.baseline ? ' (baseline)' : '';
    return `<h3>${escaped(arm.name)}${baseline}${label}</h3><pre>${escaped(commandLine(arm.argv, arm.env))}</pre>`;
  });
  return `<section id="commands"><h2>Commands</h2>${blocks.join('')}</section>`;
}

function raw(verdict: Verdict, runs: Runs): string {
  const of = (columns: readonly Column[]): string =>
    columns.length === 0
      ? ''
      : table(
          columns.map(({ head }) => head),
          verdict.arms.map((row) => columns.map(({ cell }) => cell(row))),
        );
  const detail = (name: string, body: string): string =>
    `<details><summary>${escaped(name)}</summary>${body}</details>`;
  const windows = runs.flatMap(({ id, arm, windows: own }) =>
    own.map((window) => [
      id,
      arm,
      window.class,
      window.prompt,
      String(window.result.tokens),
      number(window.result.decodeMs),
      String(window.result.counters.passes ?? NOT_KNOWN),
      number(window.result.ttftMs),
      share(window.load.ownCpuShare),
      share(window.load.foreignCpuShare),
      window.flags.join(', '),
    ]),
  );
  const heads = [
    'run',
    'arm',
    'class',
    'prompt',
    'tokens',
    'decode ms',
    'passes',
    'TTFT ms',
    'own load',
    'others',
    'flags',
  ];
  return `<section id="numbers"><h2>Numbers</h2>${[
    detail('speed', of(speedColumns())),
    detail('work', of(workColumns(verdict))),
    costColumns(verdict).length === 0 ? '' : detail('time and bytes', of(costColumns(verdict))),
    detail('output', of(outputColumns(verdict))),
    detail(
      'block by block',
      table(['class', 'arm', 'block', 'run', 'tok/s', 'passes', 'ids'], verdict.arms.flatMap(blockRows)),
    ),
    detail(`all ${windows.length} measured windows`, table(heads, windows)),
    detail('verdict.json', `<pre>${escaped(JSON.stringify(verdict, null, 2))}</pre>`),
  ].join('')}<p class="dim">${escaped(legend(verdict))}</p></section>`;
}

function blockRows(row: ArmClassVerdict): string[][] {
  return row.perBlock.map((block) => [
    row.class,
    row.arm,
    String(block.block),
    block.run,
    number(block.tokPerSec),
    String(block.passes ?? NOT_KNOWN),
    block.idsSha256?.slice(0, 12) ?? NOT_KNOWN,
  ]);
}
