// rota aa ENGINE MODEL: identical arms, so that whatever they show is noise; kept as a certificate that later plans reckon with.
import { basename } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../core/errors.ts';
import type { Certificate } from '../../core/records/certificate.ts';
import { deepRounded, stableJson } from '../../core/stable-json.ts';
import { noiseFloor } from '../../core/verdict/noise-floor.ts';
import { certificateReport } from '../../report/certificate.ts';
import { writeCertificate } from '../../results/certificates.ts';
import { readRun, readVerdict } from '../../results/read.ts';
import { runFolder } from '../../results/run-folder.ts';
import { abProtocol } from '../ab-protocol.ts';
import { modelArgument, wholeArgument } from '../arguments.ts';
import type { Context } from '../context.ts';
import { measure } from '../measure.ts';

export function aaCommand(context: Context) {
  return new Command('aa')
    .description('measure an engine against itself: the noise of this machine, kept for later plans')
    .argument('<engine>', 'name of an engine')
    .argument('<model>', 'a path, or synth:CONFIG:SEED')
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
      const quiet = { ...context, print: options.plan ? context.print : () => {} };
      await measure(quiet, { complete, text, command, equalArms: true }, options);
      context.runFolder = quiet.runFolder;
      if (!options.plan && quiet.runFolder !== null) certify(context, quiet.runFolder, options.json === true);
    });
}

/** A record that did not finish, or gave too little, certifies nothing. */
function certify(context: Context, folder: string, asJson: boolean): void {
  const record = runFolder(folder);
  if (readVerdict(record) === null) return;
  const { plan, journal } = readRun(record);
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
    machineKey: keyOf(session.machine),
    engine: arm.engine,
    model: arm.model,
    run: basename(folder),
    ...floor,
  });
  const file = writeCertificate(context.results, certificate);
  context.print(asJson ? stableJson(certificate) : certificateReport(certificate));
  context.tell(`certificate: ${file}\n`);
  if (certificate.alarm !== null) process.exitCode = EXIT.invalid;
}

function keyOf(machine: unknown): string {
  const key = typeof machine === 'object' && machine !== null && 'key' in machine ? machine.key : null;
  return typeof key === 'string' ? key : 'unknown';
}
