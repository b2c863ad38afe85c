// An engine's descriptor, engines/NAME.yaml: how to build it, start it, know it is ready, stop it, and read its counters.

import { z } from 'zod';
import type { CountingRule } from '../core/records/answer.ts';
import { aliasContradictions } from './aliases.ts';
import { type KnobSpec, type KnobSpecs, valueProblem } from './knobs.ts';
import { nameHint } from './nearest.ts';
import { OVERRIDE } from './override.ts';
import { validate } from './validate.ts';
import { parseYaml, type YamlSource } from './yaml-source.ts';

export interface EngineBuild {
  readonly preset: string;
  readonly targets: readonly string[];
  /** Arms whose knob has a value that the pattern matches run the programs of the preset that its group is. */
  readonly presetBy?: { readonly knob: string; readonly pattern: string };
}

export interface EngineDescriptor {
  readonly name: string;
  readonly summary: string;
  readonly bundled: boolean;
  readonly build?: EngineBuild;
  /** Relative to the project's root; `{preset}` is the one of the build. */
  readonly binary?: string;
  /** With the placeholders {binary} and {model}. The knobs' flags follow it. */
  readonly command: readonly string[];
  readonly transport: 'stdio';
  readonly dialect: 'rota';
  readonly ready: { readonly timeoutS: number };
  readonly stop: { readonly graceS: number };
  readonly tokenIds: boolean;
  readonly counting: CountingRule;
  /** The knob by which it is told where to write its ledger. */
  readonly ledger?: { readonly knob: string };
  readonly knobs: KnobSpecs;
}

/** The values a command may ask for by `{name}`. Ports come with the transports that need one. */
export const PLACEHOLDERS = ['binary', 'model'] as const;
/** The same of the words that a knob puts in front; `folder` is the one of the engine's program, where others of its family lie. */
const PREFIX_PLACEHOLDERS: readonly string[] = ['value', 'folder'];

const text = z.string().min(1);

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not a name of an environment variable');

const value = z.union([z.string(), z.number(), z.boolean()]);

const alias = z.union([
  variable.transform((name) => ({ name })),
  z.strictObject({
    name: variable,
    values: z.record(z.string(), value).exactOptional(),
    pattern: text.exactOptional(),
    form: text.exactOptional(),
  }),
]);

const knobSpec = z
  .strictObject({
    type: z.enum(['int', 'number', 'bool', 'enum', 'size', 'string', 'path']),
    flag: text.exactOptional(),
    switch: text.exactOptional(),
    env: variable.exactOptional(),
    prefix: z.array(text).min(1).exactOptional(),
    values: z
      .array(z.union([text, z.number().transform(String)]))
      .min(1)
      .exactOptional(),
    min: z.number().exactOptional(),
    max: z.number().exactOptional(),
    default: value.exactOptional(),
    aliases: z.array(alias).min(1).exactOptional(),
    effect: z.enum(['exact', 'rounding', 'lossy', 'unknown']),
    summary: text,
    provenBy: z
      .string()
      .regex(/^(?!\/)(?!.*\.\.).+\.test\.ts$/, 'not the path of a test file in the repository')
      .exactOptional(),
  })
  .superRefine((spec, context) => {
    for (const [path, message] of knobContradictions(spec))
      context.addIssue({ code: 'custom', path, message });
  });

/** What no single field shows: fields that contradict each other. */
function knobContradictions(spec: KnobSpec): [(string | number)[], string][] {
  const found: [(string | number)[], string][] = [...aliasProblems(spec)];
  const targets = (['flag', 'switch', 'env', 'prefix'] as const).filter(
    (target) => spec[target] !== undefined,
  );
  if (targets.length !== 1) {
    const got = targets.length === 0 ? 'none' : targets.join(' and ');
    found.push([[], `needs exactly one of flag, switch, env and prefix, got ${got}`]);
  }
  if (spec.switch !== undefined && spec.type !== 'bool')
    found.push([['switch'], 'only a bool can be a switch']);
  const isNumeric = spec.type === 'int' || spec.type === 'number';
  if (spec.type === 'enum' ? spec.values === undefined : spec.values && !isNumeric && spec.type !== 'size') {
    const why =
      spec.type === 'enum' ? 'an enum needs its values' : 'only an enum, a number or a size has values';
    found.push([['values'], why]);
  }
  for (const limit of ['min', 'max'] as const) {
    if (spec[limit] !== undefined && !isNumeric) found.push([[limit], 'only an int or a number has a range']);
  }
  if (spec.min !== undefined && spec.max !== undefined && spec.min > spec.max) {
    found.push([['max'], `below min ${spec.min}`]);
  }
  if (
    spec.prefix !== undefined &&
    spec.type !== 'bool' &&
    !spec.prefix.some((word) => word.includes('{value}'))
  ) {
    found.push([['prefix'], 'no word holds {value}, so the knob would do nothing']);
  }
  const problem = spec.default === undefined ? undefined : valueProblem(spec, spec.default);
  if (problem !== undefined)
    found.push([['default'], `${problem.message}${problem.hint ? `; ${problem.hint}` : ''}`]);
  return found;
}

function placeholdersOf(words: readonly string[]): string[] {
  return words.flatMap((word) => [...word.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name));
}

function aliasProblems(spec: KnobSpec): [(string | number)[], string][] {
  const found: [(string | number)[], string][] = [];
  for (const [index, { values, pattern }] of (spec.aliases ?? []).entries()) {
    const add = (message: string, ...below: string[]): void => {
      found.push([['aliases', index, ...below], message]);
    };
    if (values !== undefined && pattern !== undefined) add('has values or a pattern, not both');
    for (const [word, meant] of Object.entries(values ?? {})) {
      const problem = valueProblem(spec, meant);
      if (problem !== undefined) add(problem.message, 'values', word);
    }
    if (pattern !== undefined && groupsOf(pattern) !== 1)
      add('not a regular expression with one group, which is the value', 'pattern');
  }
  return found;
}

/** How many groups an expression has; null when it is none. */
function groupsOf(pattern: string): number | null {
  try {
    return (new RegExp(`${pattern}|`).exec('')?.length ?? 1) - 1;
  } catch {
    return null;
  }
}

const knobName = z.string().regex(/^[a-z][a-z0-9-]*$/, 'a knob is named in lower case with dashes');

const descriptorShape = z
  .strictObject({
    name: z.string().regex(/^[a-z][a-z0-9-]*$/, 'an engine is named in lower case with dashes'),
    summary: text,
    bundled: z.boolean().default(false),
    build: z
      .strictObject({
        preset: text,
        targets: z.array(text).min(1),
        presetBy: z.strictObject({ knob: text, pattern: text }).exactOptional(),
      })
      .exactOptional(),
    binary: text.exactOptional(),
    command: z.array(text).min(1),
    transport: z.enum(['stdio']),
    dialect: z.enum(['rota']),
    ready: z.strictObject({ timeoutS: z.number().positive().default(600) }).prefault({}),
    stop: z.strictObject({ graceS: z.number().positive().default(5) }).prefault({}),
    tokenIds: z.boolean(),
    counting: z.strictObject({ file: z.enum(['disjoint', 'subset']), unit: z.enum(['lookup', 'blob']) }),
    ledger: z.strictObject({ knob: text }).exactOptional(),
    knobs: z.record(knobName, knobSpec).default({}),
  })
  .superRefine((descriptor, context) => {
    for (const [path, message] of descriptorContradictions(descriptor)) {
      context.addIssue({ code: 'custom', path, message });
    }
  });

function descriptorContradictions(descriptor: EngineDescriptor): [(string | number)[], string][] {
  const found: [(string | number)[], string][] = [];
  for (const [index, word] of descriptor.command.entries()) {
    for (const name of placeholdersOf([word])) {
      if (name === 'binary' && descriptor.binary === undefined) {
        found.push([
          ['command', index],
          'the placeholder {binary} has no value: the descriptor names no binary',
        ]);
      } else if (!PLACEHOLDERS.some((known) => known === name)) {
        found.push([
          ['command', index],
          `the placeholder {${name}} has no value; ${nameHint(name, PLACEHOLDERS)}`,
        ]);
      }
    }
  }
  if (!descriptor.command.some((word) => word.includes('{model}'))) {
    found.push([['command'], 'no word holds {model}, so the engine would not know what to serve']);
  }
  if (descriptor.bundled && descriptor.build === undefined)
    found.push([['bundled'], 'a bundled engine needs build']);
  found.push(...ledgerProblems(descriptor), ...presetProblems(descriptor));
  const owners = new Map<string, string>();
  for (const [name, spec] of Object.entries(descriptor.knobs)) {
    if (name === OVERRIDE) found.push([['knobs', name], 'the word of an arm for what is no knob']);
    for (const word of placeholdersOf(spec.prefix ?? [])) {
      if (!PREFIX_PLACEHOLDERS.includes(word))
        found.push([
          ['knobs', name, 'prefix'],
          `the placeholder {${word}} has no value; ${nameHint(word, PREFIX_PLACEHOLDERS)}`,
        ]);
      if (word === 'folder' && descriptor.binary === undefined)
        found.push([
          ['knobs', name, 'prefix'],
          'the placeholder {folder} has no value: the descriptor names no binary',
        ]);
    }
    const target = spec.flag ?? spec.switch ?? spec.env;
    if (target === undefined) continue;
    const owner = owners.get(target);
    if (owner !== undefined) found.push([['knobs', name], `${target} already belongs to the knob ${owner}`]);
    owners.set(target, name);
  }
  for (const [path, message] of aliasContradictions(descriptor.knobs))
    found.push([['knobs', ...path], message]);
  return found;
}

function presetProblems({ binary = '', build, knobs }: EngineDescriptor): [string[], string][] {
  const found: [string[], string][] = [];
  for (const name of placeholdersOf([binary])) {
    if (name !== 'preset' || build === undefined)
      found.push([
        ['binary'],
        `the placeholder {${name}} has no value; only {preset}, with build, has one here`,
      ]);
  }
  if (build?.presetBy === undefined) return found;
  const { knob, pattern } = build.presetBy;
  if (!Object.hasOwn(knobs, knob)) found.push([['build', 'presetBy', 'knob'], `"${knob}" is no knob`]);
  if (groupsOf(pattern) !== 1) {
    const message = 'not a regular expression with one group, which is the preset';
    found.push([['build', 'presetBy', 'pattern'], message]);
  }
  if (!binary.includes('{preset}'))
    found.push([['binary'], 'holds no {preset}, so every preset would have the same program']);
  return found;
}

function ledgerProblems({ ledger, knobs }: EngineDescriptor): [(string | number)[], string][] {
  if (ledger === undefined) return [];
  const spec = Object.hasOwn(knobs, ledger.knob) ? knobs[ledger.knob] : undefined;
  if (spec?.type === 'path' && spec.flag !== undefined) return [];
  return [[['ledger', 'knob'], `"${ledger.knob}" is no knob of type path with a flag`]];
}

export interface ParsedDescriptor {
  readonly descriptor: EngineDescriptor;
  readonly source: YamlSource;
}

/** Parses a descriptor, or throws one UserError that names everything wrong with it by file, line and column. */
export function parseDescriptor(yaml: string, file: string): ParsedDescriptor {
  const source = parseYaml(yaml, file);
  return { descriptor: validate<EngineDescriptor>(descriptorShape, source), source };
}
