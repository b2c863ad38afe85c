// Where the time of a pass went, as a verdict has it. Data only.

/** Milliseconds of a pass by cause: parts that do not overlap. `null`: not told, and then in `other`. */
export interface PassCauses {
  /** Drafting, and giving the drafter its context. */
  readonly draft: number | null;
  /** The forward outside the routed experts. */
  readonly dense: number | null;
  /** The CPU pool computing experts. */
  readonly pool: number | null;
  /** Waiting for a file with nothing to compute. */
  readonly fileWait: number | null;
  readonly other: number;
}
