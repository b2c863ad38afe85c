// rota engines [NAME]: the engines there are, or the knobs of one.
import { existsSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { binaryPath } from '../../engines/build.ts';
import type { KnobAlias } from '../../schema/aliases.ts';
import type { EngineDescriptor } from '../../schema/descriptor.ts';
import type { KnobEffect, KnobSpec, KnobValue } from '../../schema/knobs.ts';
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
        name !== undefined && only !== undefined
          ? knobTable(only, context)
          : engineTable(descriptors, context),
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

const HEAD = ['knob', 'values', 'default', 'effect', 'what it does'];

const EFFECTS: Readonly<Record<KnobEffect, string>> = {
  exact: 'the output stays, to the last bit',
  rounding: 'the last bits may change',
  lossy: 'what the model says may change',
  unknown: 'nobody has said',
};

function knobTable({ name, summary, knobs }: EngineDescriptor, { colors }: Context): string {
  const specs = Object.values(knobs);
  const rows = Object.entries(knobs).map(([knob, spec]) => [
    knob,
    valuesOf(spec),
    defaultOf(spec),
    spec.effect,
    [spec.summary, ...otherNames(knob, spec)].join(' · '),
  ]);
  const table = columns([HEAD, ...rows])
    .trimEnd()
    .split('\n')
    .map((line, index) => (specs[index - 1]?.effect === 'lossy' ? colors.yellow(line) : line))
    .join('\n');
  const effects = [...new Set(specs.map(({ effect }) => effect))].map(
    (effect) => `${effect}: ${EFFECTS[effect]}`,
  );
  return `${name}: ${summary}\n\n${table}\n\n${effects.join(' · ')}\n`;
}

/** By what else than its name a knob can be set. */
function otherNames(knob: string, { flag, switch: only, env, prefix, aliases }: KnobSpec): string[] {
  const word = flag ?? only ?? (env === undefined ? undefined : `${env}=`);
  const given = prefix?.join(' ') ?? (word === `--${knob}` ? undefined : word);
  const family = (aliases ?? []).map((alias) => `${alias.name}${meaningOf(alias)}`);
  return [
    ...(given === undefined ? [] : [`given as ${given}`]),
    ...(family.length === 0 ? [] : [`also ${family.join(', ')}`]),
  ];
}

function meaningOf({ values, form }: KnobAlias): string {
  if (form !== undefined) return `=${form}`;
  const words = Object.entries(values ?? {}).map(([word, value]) => `${word} is ${worded(value)}`);
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}

function worded(value: KnobValue): string {
  return value === true ? 'on' : value === false ? 'off' : String(value);
}

function defaultOf({ default: value }: KnobSpec): string {
  return value === undefined ? '' : worded(value);
}

function valuesOf({ values, ...rest }: KnobSpec): string {
  const { type, min, max } = rest;
  if (type === 'enum') return values?.join('|') ?? '';
  if (values !== undefined) return [valuesOf(rest), ...values].join('|');
  if (type === 'bool') return 'on|off';
  const range = min === undefined && max === undefined ? '' : ` ${min ?? ''}..${max ?? ''}`;
  return `${type}${range}`;
}
