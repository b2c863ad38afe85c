// rota engines [NAME]: the engines there are, or the knobs of one.
import { existsSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { binaryPath } from '../../engines/build.ts';
import type { EngineDescriptor } from '../../schema/descriptor.ts';
import type { KnobSpec } from '../../schema/knobs.ts';
import { engineNames, loadDescriptor } from '../../schema/load.ts';
import { columns } from '../columns.ts';
import type { Context } from '../context.ts';

export function enginesCommand(context: Context) {
  return new Command('engines')
    .description('list the engines, or the knobs of one')
    .argument('[engine]', 'name of an engine')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  rota engines strata')
    .action((name, { json }) => {
      const names = name === undefined ? engineNames(context.engines) : [name];
      const descriptors = names.map((each) => loadDescriptor(context.engines, each));
      if (json) {
        const listed = descriptors.map((each) => ({ ...each, built: isBuilt(each, context) }));
        context.print(`${JSON.stringify({ engines: listed }, null, 2)}\n`);
        return;
      }
      const [only] = descriptors;
      context.print(
        name !== undefined && only !== undefined ? knobTable(only) : engineTable(descriptors, context),
      );
    });
}

function isBuilt(descriptor: EngineDescriptor, context: Context): boolean | null {
  const binary = binaryPath(descriptor, context.root);
  return binary === null ? null : existsSync(binary);
}

function engineTable(descriptors: readonly EngineDescriptor[], context: Context): string {
  return columns(
    descriptors.map((each) => {
      const built = isBuilt(each, context);
      return [each.name, built === null ? 'n/a' : built ? 'built' : 'not built', each.summary];
    }),
  );
}

function knobTable({ name, summary, knobs }: EngineDescriptor): string {
  const rows = Object.entries(knobs).map(([knob, spec]) => [
    knob,
    valuesOf(spec),
    defaultOf(spec),
    spec.effect,
    spec.summary,
  ]);
  return `${name}: ${summary}\n${columns(rows)}`;
}

function defaultOf({ default: value }: KnobSpec): string {
  if (value === undefined) return '';
  return `default ${value === true ? 'on' : value === false ? 'off' : value}`;
}

function valuesOf({ type, values, min, max }: KnobSpec): string {
  if (values !== undefined) return values.join('|');
  if (type === 'bool') return 'on|off';
  const range = min === undefined && max === undefined ? '' : ` ${min ?? ''}..${max ?? ''}`;
  return `${type}${range}`;
}
