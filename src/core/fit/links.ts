// A fitted slope held against the link that moves the bytes: what it says in GB/s, and whether the link could have done that. Knows
// slopes and measured bandwidths.

import { isHostDevice } from '../roofline/ceiling.ts';
import type { FittedTerm, Pass, PassFit, Source } from './pass-model.ts';

/** Bytes a second that were measured; null: nothing measured this link. */
export type Links = Readonly<Record<Source, number | null>>;

export type LinkState = 'agrees' | 'cannot tell' | 'slower than the link' | 'contradiction' | 'not compared';

export interface LinkCheck {
  readonly source: Source;
  /** Mean bytes of what the slope is counted by. */
  readonly bytesPerUnit: number;
  /** What the slope says; null when it is not above 0. */
  readonly gbPerSec: number | null;
  /** At 95 %; null at the upper end: no bound. */
  readonly interval: readonly [number, number | null] | null;
  readonly linkGbPerSec: number | null;
  readonly state: LinkState;
  /** One sentence. */
  readonly line: string;
}

/** Of every source whose slope was fitted. */
export function checkLinks(
  fit: PassFit,
  passes: readonly Pass[],
  links: Links,
  device: string | null,
): LinkCheck[] {
  return fit.terms.flatMap((term) => {
    const { term: name } = term;
    return name === 'constant' || name === 'rows'
      ? []
      : [checkLink(term, { source: name, fit, passes, link: links[name], device })];
  });
}

interface Facts {
  readonly source: Source;
  readonly fit: PassFit;
  readonly passes: readonly Pass[];
  readonly link: number | null;
  readonly device: string | null;
}

function checkLink(term: FittedTerm, facts: Facts): LinkCheck {
  const { source, link } = facts;
  const bytesPerUnit = bytesOf(facts);
  // bytes / ms = 1e-6 GB/s
  const rate = (ms: number): number | null => (ms > 0 ? bytesPerUnit / ms / 1e6 : null);
  const [low, high] = term.interval ?? [null, null];
  const slowest = high === null ? null : rate(high);
  const gbPerSec = rate(term.value);
  const linkGbPerSec = link === null ? null : link / 1e9;
  const why = notCompared(term, facts);
  const state = why === null ? stateOf(low ?? 0, high ?? 0, linkMs(bytesPerUnit, link ?? 1)) : 'not compared';
  const said = gbPerSec === null ? 'no time at all' : `${gbPerSec.toPrecision(3)} GB/s`;
  const beside = linkGbPerSec === null ? '' : `, the link measured ${linkGbPerSec.toPrecision(3)} GB/s`;
  return {
    source,
    bytesPerUnit,
    gbPerSec,
    interval: slowest === null || low === null ? null : [slowest, rate(low)],
    linkGbPerSec,
    state,
    line: `${source}: the slope says ${said}${beside}: ${why === null ? WORDS[state] : `not compared: ${why}`}`,
  };
}

const WORDS: Readonly<Record<LinkState, string>> = {
  agrees: 'they agree',
  'cannot tell': 'these passes cannot tell: the slope may as well be none',
  'slower than the link': 'slower than the link, so more than the link is waited for',
  contradiction:
    'contradiction: the link cannot be that fast, so a part of the time is hidden behind other work, or a counter is wrong',
  'not compared': 'not compared',
};

const linkMs = (bytes: number, bytesPerSec: number): number => (1000 * bytes) / bytesPerSec;

/** By the whole interval of the slope: what the data do not exclude is no contradiction. */
function stateOf(low: number, high: number, link: number): LinkState {
  if (high < link) return 'contradiction';
  if (low <= 0) return 'cannot tell';
  return low > link ? 'slower than the link' : 'agrees';
}

function bytesOf({ source, fit, passes }: Facts): number {
  if (fit.unit === 'MB') return 1e6;
  const sum = (of: (pass: Pass) => number): number => passes.reduce((total, pass) => total + of(pass), 0);
  return sum(({ bytes }) => bytes[source]) / sum(({ lookups }) => lookups[source]);
}

/**
 * A slope is what one more lookup there costs instead of a hit. It is the link's time only where a hit costs next to nothing beside it:
 * on the host device a hit is read from the same memory as `cpu`. A file is read in addition to that, whatever the device. When another
 * term was left out because it follows, slopes count from that source instead.
 */
function notCompared({ interval }: FittedTerm, { source, fit, link, device }: Facts): string | null {
  if (source === 'cpu' && isHostDevice(device))
    return 'on the host device a hit is read from the same memory';
  const instead = fit.leftOut.find(({ why }) => why === 'follows from the other terms');
  if (source !== 'file' && instead !== undefined) return `it counts from ${instead.term}, not from a hit`;
  if (link === null) return 'nothing measured this link';
  return interval === null ? 'one run has no error' : null;
}
