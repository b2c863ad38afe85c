// The verdict for programs: a small stable shape, without the sentences.

import type {
  ArmClassVerdict,
  BackgroundFinding,
  Calibration,
  ForeignLoad,
  Verdict,
} from '../core/records/verdict.ts';
import { stableJson } from '../core/stable-json.ts';

type Arm = Pick<
  ArmClassVerdict,
  | 'arm'
  | 'class'
  | 'output'
  | 'speed'
  | 'ratio'
  | 'test'
  | 'robust'
  | 'spread'
  | 'spreadRatio'
  | 'tokPerSec'
  | 'tokensPerPass'
  | 'msPerPass'
  | 'prefillTokPerSec'
  | 'ttftMs'
  | 'loadS'
  | 'hostBytesPerToken'
  | 'deviceBytesPerToken'
  | 'ceilingTokPerSec'
  | 'lookups'
  | 'rows'
  | 'passes'
  | 'idsSha256'
  | 'evidence'
  | 'split'
  | 'deadKnobs'
  | 'command'
  | 'lossy'
  | 'overrides'
  | 'perBlock'
>;

/** `null` where a number is not known. */
export interface ReportJson {
  readonly device: string | null;
  readonly runs: Verdict['runs'];
  readonly arms: readonly Arm[];
  readonly headlines: Verdict['headlines'];
  readonly components: Verdict['components'];
  readonly executed: Verdict['executed'];
  readonly decisions: Verdict['decisions'];
  /** What others did to the measurement. Absent: nothing. */
  readonly foreignLoad?: ForeignLoad;
  /** Load that the protocol asked for. Absent: none. */
  readonly background?: BackgroundFinding;
  /** The machine itself. Absent: a record without a calibration loop. */
  readonly calibration?: Calibration;
}

export function reportJson(verdict: Verdict): ReportJson {
  return {
    device: verdict.device,
    runs: verdict.runs,
    arms: verdict.arms.map((row) => ({
      arm: row.arm,
      class: row.class,
      output: row.output,
      speed: row.speed,
      ratio: row.ratio,
      test: row.test,
      robust: row.robust,
      spread: row.spread,
      spreadRatio: row.spreadRatio,
      tokPerSec: row.tokPerSec,
      tokensPerPass: row.tokensPerPass,
      msPerPass: row.msPerPass,
      prefillTokPerSec: row.prefillTokPerSec,
      ttftMs: row.ttftMs,
      loadS: row.loadS,
      hostBytesPerToken: row.hostBytesPerToken,
      deviceBytesPerToken: row.deviceBytesPerToken,
      ceilingTokPerSec: row.ceilingTokPerSec,
      lookups: row.lookups,
      rows: row.rows,
      passes: row.passes,
      idsSha256: row.idsSha256,
      command: row.command,
      ...(row.evidence === undefined ? {} : { evidence: row.evidence }),
      ...(row.split === undefined ? {} : { split: row.split }),
      ...(row.deadKnobs === undefined ? {} : { deadKnobs: row.deadKnobs }),
      ...(row.lossy === undefined ? {} : { lossy: row.lossy }),
      ...(row.overrides === undefined ? {} : { overrides: row.overrides }),
      perBlock: row.perBlock,
    })),
    headlines: verdict.headlines,
    components: verdict.components,
    executed: verdict.executed,
    decisions: verdict.decisions,
    ...(verdict.foreignLoad === undefined ? {} : { foreignLoad: verdict.foreignLoad }),
    ...(verdict.background === undefined ? {} : { background: verdict.background }),
    ...(verdict.calibration === undefined ? {} : { calibration: verdict.calibration }),
  };
}

export function jsonReport(verdict: Verdict): string {
  return stableJson(reportJson(verdict));
}
