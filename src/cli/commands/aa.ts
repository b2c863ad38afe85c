// rota aa ENGINE MODEL: identical arms, so that whatever they show is noise; kept as a certificate that later plans reckon with.
import { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../core/errors.ts';
import type { Certificate } from '../../core/records/certificate.ts';
import { machineKeyOf } from '../../core/records/machine-key.ts';
import type { Plan } from '../../core/records/plan.ts';
import type { Verdict } from '../../core/records/verdict.ts';
import { deepRounded, stableJson } from '../../core/stable-json.ts';
import { noiseFloor } from '../../core/verdict/noise-floor.ts';
import { certificateReport } from '../../report/certificate.ts';
import { writeCertificate } from '../../results/certificates.ts';
import { readRun } from '../../results/read.ts';
import type { RunFolder } from '../../results/run-folder.ts';
import { abProtocol } from '../ab-protocol.ts';
import { MODEL_WORDS, modelArgument, wholeArgument } from '../arguments.ts';
import type { Context } from '../context.ts';
import { measure } from '../measure.ts';

export function aaCommand(context: Context) {
  return new Command('aa')
    .description('measure an engine against itself: the noise of this machine, kept for later plans')
    .argument('<engine>', 'name of an engine')
    .argument('<model>', MODEL_WORDS)
    .option('-a <flags>', 'flags of both arms, as the engine has them', '')
    .option('--blocks <count>', 'how often both are run', wholeArgument(4, 1000), 8)
    .option('--max-new <count>', 'tokens of each answer', wholeArgument(2, 1_000_000), 64)
    .option('--plan', 'print the plan and stop')
    .option('--share-machine', 'although another rota measures on this machine')
    .option('--json', 'the certificate (or the plan) as JSON')
    .addHelpText('after', '\nExample:\n  rota aa strata synth:mini-s:1 --blocks 8')
    .action(async (engine, model, options) => {
      const { complete, text } = abProtocol(context, {
        name: `aa-${engine}`,
        engine,
        model: modelArgument(model),
        flags: { A: options.a, B: options.a },
        overrides: { A: undefined, B: undefined },
        blocks: options.blocks,
        maxNew: options.maxNew,
      });
      const command = `rota aa ${engine} ${model} -a '${options.a}'`;
      const onVerdict = (plan: Plan, verdict: Verdict, folder: RunFolder): void =>
        certify(context, { plan, verdict, folder }, options.json === true);
      await measure(context, { complete, text, command, equalArms: true, onVerdict }, options);
    });
}

interface Finished {
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly folder: RunFolder;
}

/** A record that contradicts itself, or gave too little, certifies nothing. */
function certify(context: Context, { plan, verdict, folder }: Finished, asJson: boolean): void {
  if (verdict.exitCode === EXIT.invalid) {
    context.tell(`no certificate: ${verdict.warnings[0] ?? 'the record contradicts itself'}\n`);
    return;
  }
  const { journal } = readRun(folder);
  const session = journal.events.find((event) => event.type === 'session');
  const floor = noiseFloor(plan, journal.events);
  const [arm] = plan.arms;
  if (floor === null || session === undefined || arm === undefined) {
    context.tell('no certificate: a class has fewer than three blocks with both rates\n');
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
