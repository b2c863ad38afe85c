// The figures of a verdict: effects, parts of the speed, bytes against ceilings, lookups by tier. Owns what is drawn, not how.

import type { ArmClassVerdict, Verdict } from '../../core/records/verdict.ts';
import { CAUSE_NAMES } from '../../core/verdict/causes.ts';
import { ratioParts } from '../../core/verdict/lines.ts';
import { channelRates, megabytes, number, share, signedNumber } from '../format.ts';
import { figure, key, line, type Part, rect, row, stacked, WIDTH } from './draw.ts';

const nameOf = (arm: Pick<ArmClassVerdict, 'arm' | 'class'>): string => `${arm.class} · ${arm.arm}`;

const total = (parts: readonly Part[]): number => parts.reduce((sum, part) => sum + part.value, 0);

const COLORS: Readonly<Partial<Record<ArmClassVerdict['speed'], string>>> = {
  faster: 'var(--good)',
  slower: 'var(--bad)',
};

/** On a logarithmic scale, so that twice and half are as far from 1. */
export function effects({ arms }: Verdict): string {
  const rows = arms.flatMap((arm) => (arm.ratio === null ? [] : [{ arm, ratio: arm.ratio }]));
  if (rows.length === 0) return figure('effects', 'Effects', 'no arm has a ratio to the baseline', '');
  const far = Math.max(
    1.02,
    ...rows.flatMap(({ ratio }) => [ratio[2], 1 / ratio[0]].map((x) => Math.min(x, 8))),
  );
  const at = (value: number): number =>
    (WIDTH / 2) * (1 + Math.max(-1, Math.min(1, Math.log(value) / Math.log(far))) * 0.96);
  const body = rows.map(({ arm, ratio }) => {
    // A changed output is never a win, and is not painted as one.
    const fill = arm.output === 'L3' ? 'var(--warn)' : (COLORS[arm.speed] ?? 'var(--dim)');
    const shapes = [
      line(at(1), 0, at(1), 22, 'var(--dim)', 1),
      line(at(ratio[0]), 11, at(ratio[2]), 11, fill, 3),
      rect(at(ratio[1]) - 4, 5, 8, 12, fill, String(ratio[1])),
    ];
    const { ratio: mid, interval } = ratioParts(ratio);
    return row(nameOf(arm), shapes, `${mid} (${interval}) ${arm.speed}, ${arm.output}`);
  });
  const note = `tok/s over the baseline's, paired by block, with the interval at which it was decided; the line is 1×, the edges ${number(1 / far)}× and ${number(far)}×; yellow: changed output`;
  return figure('effects', 'Effects', note, body.join(''));
}

/** Δln tok/s = Δln tokens/pass − Δln ms/pass: two bars from the middle. */
export function split({ arms }: Verdict): string {
  const rows = arms.flatMap((arm) => (arm.split === undefined ? [] : [{ arm, split: arm.split }]));
  const far = Math.max(
    0.01,
    ...rows.flatMap(({ split: parts }) => [parts.tokensPerPass, parts.msPerPass].map(Math.abs)),
  );
  const bar = (value: number, y: number, fill: string): string => {
    const width = (Math.abs(value) / far) * (WIDTH / 2) * 0.96;
    return rect(value < 0 ? WIDTH / 2 - width : WIDTH / 2, y, width, 8, fill, String(value));
  };
  const body = rows.map(({ arm, split: parts }) =>
    row(
      nameOf(arm),
      [
        line(WIDTH / 2, 0, WIDTH / 2, 22, 'var(--dim)', 1),
        bar(parts.tokensPerPass, 2, 'var(--c0)'),
        bar(-parts.msPerPass, 12, 'var(--c1)'),
      ],
      `tokens/pass ${signedNumber(parts.tokensPerPass)}, shorter passes ${signedNumber(-parts.msPerPass)}`,
    ),
  );
  const note = 'Δln tok/s = Δln tokens/pass − Δln ms/pass; to the right is faster';
  return rows.length === 0
    ? ''
    : figure(
        'split',
        'Why: tokens a pass, or time a pass',
        note,
        key(['tokens/pass', 'ms/pass']) + body.join(''),
      );
}

/** What one token had to be read for, and how near the bandwidth of it the arm came. */
export function bytes({ arms, ceilings }: Verdict): string {
  const names = ['host memory', 'device memory'];
  const rows = arms.map((arm) => ({
    arm,
    parts: [
      { name: 'host memory', value: arm.hostBytesPerToken ?? 0 },
      { name: 'device memory', value: arm.deviceBytesPerToken ?? 0 },
    ] as Part[],
  }));
  const max = Math.max(0, ...rows.map(({ parts }) => total(parts)));
  if (max === 0) return '';
  const body = rows.map(({ arm, parts }) =>
    row(
      nameOf(arm),
      stacked(parts, max, names),
      `${megabytes(arm.hostBytesPerToken)} MB/token; ${number(arm.tokPerSec)} of ${number(arm.ceilingTokPerSec)} tok/s, ${share(arm.ceilingShare)}`,
    ),
  );
  const note = `bytes a decoded token needs; its ceiling is the longest of its channels at the bandwidth measured in the same session: ${channelRates(ceilings).join(', ')}`;
  return figure('bytes', 'Bytes per token against the ceilings', note, key(names) + body.join(''));
}

const CAUSES = ['draft', 'dense', 'pool', 'fileWait', 'other'] as const;

/** Milliseconds of a pass by what they went to, as far as the engine tells. */
export function causes({ arms }: Verdict): string {
  const names = CAUSES.map((cause) => CAUSE_NAMES[cause]);
  const rows = arms.flatMap((arm) => {
    const { causes: found, msPerPass } = arm;
    if (msPerPass === null) return [];
    const told = found ?? { draft: null, dense: null, pool: null, fileWait: null, other: msPerPass };
    const parts = CAUSES.flatMap((cause): Part[] => {
      const value = told[cause];
      return value === null ? [] : [{ name: CAUSE_NAMES[cause], value: Math.max(0, value) }];
    });
    const text = found === undefined ? 'the engine does not tell its parts' : wordsOf(parts);
    return [{ arm, parts, text: `${number(msPerPass)} ms a pass; ${text}` }];
  });
  if (rows.length === 0) return '';
  const max = Math.max(...rows.map(({ parts }) => total(parts)));
  const body = rows.map(({ arm, parts, text }) => row(nameOf(arm), stacked(parts, max, names), text));
  const note = 'decode of the measured windows; what the parts leave is other';
  return figure('causes', 'Milliseconds of a pass by cause', note, key(names) + body.join(''));
}

const wordsOf = (parts: readonly Part[]): string =>
  parts.map(({ name, value }) => `${name} ${number(value)}`).join(', ');

export function lookups({ arms }: Verdict): string {
  const names = ['hit', 'pcie', 'cpu', 'file', 'skipped'] as const;
  const rows = arms.map((arm) => ({
    arm,
    parts: names.map((name): Part => ({ name, value: arm.lookups[name] ?? 0 })),
  }));
  const max = Math.max(0, ...rows.map(({ parts }) => total(parts)));
  if (max === 0) return '';
  const body = rows.map(({ arm, parts }) => {
    const all = total(parts);
    const text = parts
      .filter((part) => part.value > 0)
      .map((part) => `${part.name} ${share(part.value / all)}`);
    return row(nameOf(arm), stacked(parts, max, [...names]), text.join(', '));
  });
  return figure(
    'lookups',
    'Lookups by tier',
    'where the chosen expert was, for every row, layer and choice',
    key([...names]) + body.join(''),
  );
}
