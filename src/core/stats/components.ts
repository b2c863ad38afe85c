// Where the variance of a rate comes from: requests of one run, restarts of one arm, blocks. Knows numbers only.

import { blockModel, type Table } from './block-model.ts';

export interface VarianceComponents {
  /** Of ln rate, as standard deviations: shares of the speed. Null where the record cannot tell. */
  readonly request: number | null;
  readonly run: number | null;
  readonly block: number | null;
}

/**
 * Mean squares solved for their parts (Kalibera and Jones 2013, section 6): requests from what arms and prompts do not explain inside a
 * block, runs from the error of the block model less the part of requests, blocks from what is left. A part that comes out below
 * nothing is 0.
 * @param runs ln rate of each run: a block a row, an arm a column, without holes
 * @param requests for each block ln rate of each request: a prompt a row, an arm a column
 */
export function varianceComponents(runs: Table, requests: readonly Table[]): VarianceComponents {
  const inner = requests.filter((table) => table.length >= 2 && (table[0]?.length ?? 0) >= 2).map(blockModel);
  const innerDf = inner.reduce((sum, { df }) => sum + df, 0);
  const request = innerDf === 0 ? null : inner.reduce((sum, { error, df }) => sum + error * df, 0) / innerDf;
  if (runs.length < 2 || (runs[0]?.length ?? 0) < 2)
    return { request: root(request), run: null, block: null };
  const outer = blockModel(runs);
  const perRun = inner.length === 0 ? 1 : inner.reduce((sum, { blocks }) => sum + blocks, 0) / inner.length;
  const run = Math.max(0, outer.error - (request ?? 0) / perRun);
  const block = Math.max(0, (outer.blockMeanSquare - outer.error) / outer.arms);
  return { request: root(request), run: Math.sqrt(run), block: Math.sqrt(block) };
}

function root(variance: number | null): number | null {
  return variance === null ? null : Math.sqrt(variance);
}
