// What a run of identical arms says of this machine: the certificate of its noise, printed and kept.
import { EXIT } from '../core/errors.ts';
import type { Certificate } from '../core/records/certificate.ts';
import { machineKeyOf } from '../core/records/machine-key.ts';
import type { Plan } from '../core/records/plan.ts';
import type { Verdict } from '../core/records/verdict.ts';
import { deepRounded, stableJson } from '../core/stable-json.ts';
import { noiseFloor } from '../core/verdict/noise-floor.ts';
import { certificateReport } from '../report/certificate.ts';
import { writeCertificate } from '../results/certificates.ts';
import { readRun } from '../results/read.ts';
import type { RunFolder } from '../results/run-folder.ts';
import type { Context } from './context.ts';

interface Finished {
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly folder: RunFolder;
}

/** A record that contradicts itself, or gave too little, certifies nothing. */
export function certify(context: Context, { plan, verdict, folder }: Finished, asJson: boolean): void {
  if (verdict.exitCode === EXIT.invalid) {
    context.tell(`no certificate: ${verdict.warnings[0] ?? 'the record contradicts itself'}\n`);
    return;
  }
  const { journal } = readRun(folder);
  const session = journal.events.find((event) => event.type === 'session');
  const floor = noiseFloor(plan, journal.events);
  const [arm] = plan.arms;
  if (floor === null || session === undefined || arm === undefined) {
    context.tell(
      'no certificate: a class has fewer than three blocks with both rates that nobody disturbed\n',
    );
    process.exitCode = EXIT.couldNotMeasure;
    return;
  }
  const certificate: Certificate = deepRounded({
    schemaVersion: 1,
    utc: plan.createdUtc,
    machineKey: machineKeyOf(session.machine) ?? 'unknown',
    engine: arm.engine,
    model: arm.model,
    run: folder.name,
    ...floor,
  });
  const file = writeCertificate(context.results, certificate);
  context.print(asJson ? stableJson(certificate) : certificateReport(certificate));
  context.tell(`certificate: ${file}\n`);
  if (certificate.alarm !== null) process.exitCode = EXIT.invalid;
}
