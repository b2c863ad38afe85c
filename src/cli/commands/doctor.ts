// rota doctor: what would spoil a measurement on this machine, and the remedy of each.
import { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../core/errors.ts';
import { inheritedVariables } from '../../engines/environment.ts';
import { examine } from '../../machine/doctor/doctor.ts';
import type { Finding, FindingState } from '../../machine/doctor/finding.ts';
import { thisMachine } from '../../machine/doctor/this-machine.ts';
import { engineNames, loadDescriptor } from '../../schema/load.ts';
import type { Context } from '../context.ts';

export function doctorCommand(context: Context) {
  return new Command('doctor')
    .description('say what would spoil a measurement on this machine, each with its remedy')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nExits with 3 when something needed is missing.\n\nExample:\n  rota doctor --json',
    )
    .action(({ json }) => {
      const { models, results } = context;
      const findings = examine(thisMachine, { models, results, inherited: inherited(context) });
      context.print(json ? `${JSON.stringify({ findings }, null, 2)}\n` : findingLines(findings, context));
      if (findings.some((finding) => finding.state === 'missing')) process.exitCode = EXIT.couldNotMeasure;
    });
}

function inherited({ engines }: Context): string[] | null {
  try {
    const specs = engineNames(engines).map((name) => loadDescriptor(engines, name).knobs);
    return [...new Set(specs.flatMap((knobs) => inheritedVariables(knobs, process.env)))].sort();
  } catch {
    // What is wrong with a descriptor is told where it is used.
    return null;
  }
}

function findingLines(findings: readonly Finding[], { colors }: Context): string {
  const paint: Record<FindingState, (text: string) => string> = {
    ok: colors.green,
    warn: colors.yellow,
    missing: colors.red,
    waived: colors.dim,
    unknown: colors.magenta,
  };
  const width = Math.max(...findings.map((finding) => finding.name.length));
  return findings
    .map(({ name, state, value, remedy }) => {
      const line = `${paint[state](state.padEnd(8))} ${name.padEnd(width)}  ${value}\n`;
      return remedy === null ? line : `${line}${' '.repeat(width + 11)}${colors.dim('remedy:')} ${remedy}\n`;
    })
    .join('');
}
