// The noise of a machine as identical arms showed it. Data only.

export interface ClassNoise {
  readonly class: string;
  /** Standard deviation of ln(A / B) between blocks, and its upper bound at one-sided 95 %. */
  readonly spread: number;
  readonly spreadUpper: number;
  /** p-value of "identical arms are alike". */
  readonly differenceP: number;
  /** Change of ln tok/s a block, of both arms, and the p-value of "none"; null with too few blocks. */
  readonly driftPerBlock: number | null;
  readonly driftP: number | null;
  /** What running second in its block adds to ln tok/s, and the p-value of "nothing". */
  readonly positionEffect: number;
  readonly positionP: number;
  /** Blocks of a paired comparison that see an effect with 80 % power at the upper bound; null: more than 600. */
  readonly blocksNeeded: readonly { readonly share: number; readonly blocks: number | null }[];
}

export interface Certificate {
  readonly schemaVersion: 1;
  readonly utc: string;
  readonly machineKey: string;
  readonly engine: string;
  readonly model: string;
  readonly run: string;
  /** From which it is. */
  readonly blocks: number;
  /** Blocks left out, which others disturbed. Absent: it was not looked at. */
  readonly disturbed?: number;
  readonly classes: readonly ClassNoise[];
  /** Why the harness must not be believed here; null: nothing speaks against it. */
  readonly alarm: string | null;
}
