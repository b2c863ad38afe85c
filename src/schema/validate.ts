// Turns the issues of a zod schema into problems with a position and the nearest valid name. Knows no particular schema.

import { z } from 'zod';
import { nameHint } from './nearest.ts';
import { type Problem, throwProblems } from './problems.ts';
import { type Path, pathText, type YamlSource } from './yaml-source.ts';

type Issue = z.core.$ZodIssue;

/** The parsed value, or one UserError that lists everything that is wrong with the file. */
export function validate<T>(schema: z.ZodType<T>, source: YamlSource): T {
  const parsed = schema.safeParse(source.value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => toProblems(issue, [], schema, source));
  throwProblems(inFileOrder(problems));
  throw parsed.error;
}

function inFileOrder(problems: readonly Problem[]): Problem[] {
  const at = (problem: Problem): readonly [number, number] => {
    const [, line, column] = /:(\d+):(\d+)$/.exec(problem.where) ?? [];
    return [Number(line), Number(column)];
  };
  return [...problems].sort((a, b) => at(a)[0] - at(b)[0] || at(a)[1] - at(b)[1]);
}

function toProblems(issue: Issue, above: Path, schema: z.core.$ZodType, source: YamlSource): Problem[] {
  const path = [...above, ...issue.path];
  const problem = (message: string, hint?: string): Problem => ({
    where: source.where(path),
    path: pathText(path),
    message,
    ...(hint === undefined ? {} : { hint }),
  });
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = keysAt(schema, path);
      return issue.keys.map((key) => ({
        where: source.where([...path, key], 'key'),
        path: pathText([...path, key]),
        message: 'unknown key',
        hint: nameHint(key, known),
      }));
    }
    case 'invalid_union': {
      const branch = likelyBranch(issue.errors);
      if (branch === undefined) return [problem(typeMessage(expectedOf(issue.errors), issue.input))];
      return branch.flatMap((inner) => toProblems(inner, path, schema, source));
    }
    case 'invalid_key':
      return [
        { ...problem(issue.issues[0]?.message ?? 'not a valid name'), where: source.where(path, 'key') },
      ];
    case 'invalid_value': {
      const values = issue.values.map(String);
      const got = issue.input === undefined ? 'missing' : `unknown value ${show(issue.input)}`;
      return [problem(got, nameHint(String(issue.input ?? ''), values))];
    }
    case 'invalid_type':
      return [problem(typeMessage(issue.expected, issue.input))];
    case 'too_small':
    case 'too_big':
      return [problem(rangeMessage(issue))];
    default:
      return [problem(issue.message)];
  }
}

const wrongShape = (issue: Issue): boolean => issue.code === 'invalid_type' && issue.path.length === 0;

/** Of the ways a union could have been meant, the one that got past the type of the whole, if any did. */
function likelyBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  return branches.find((issues) => !issues.some(wrongShape));
}

function expectedOf(branches: readonly (readonly Issue[])[]): string {
  const expected = branches
    .flat()
    .flatMap((issue) => (issue.code === 'invalid_type' ? [named(issue.expected)] : []));
  return [...new Set(expected)].join(' or ');
}

const NAMES: Readonly<Record<string, string>> = {
  object: 'a map',
  record: 'a map',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

const named = (type: string): string => NAMES[type] ?? type;

function typeMessage(expected: string, input: unknown): string {
  const wanted = named(expected);
  return input === undefined ? `missing: expected ${wanted}` : `expected ${wanted}, got ${show(input)}`;
}

function rangeMessage(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): string {
  const isSmall = issue.code === 'too_small';
  const limit = issue.code === 'too_small' ? issue.minimum : issue.maximum;
  const words = isSmall
    ? issue.inclusive
      ? 'at least'
      : 'more than'
    : issue.inclusive
      ? 'at most'
      : 'less than';
  if (issue.origin === 'string')
    return issue.code === 'too_small' ? 'must not be empty' : `longer than ${limit} characters`;
  if (issue.origin === 'array') return `needs ${words} ${limit} ${limit === 1 ? 'entry' : 'entries'}`;
  return `must be ${words} ${limit}, got ${show(issue.input)}`;
}

export function show(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** The keys that an object schema knows at a path, through options, defaults, unions, lists and maps. */
function keysAt(schema: z.core.$ZodType, path: Path): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return keysAt(schema.unwrap(), path);
  }
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodExactOptional) {
    return keysAt(schema.unwrap(), path);
  }
  if (schema instanceof z.ZodPipe) {
    return keysAt(schema.in instanceof z.ZodTransform ? schema.out : schema.in, path);
  }
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => keysAt(option, path));
  const [segment, ...rest] = path;
  if (schema instanceof z.ZodObject) {
    if (segment === undefined) return Object.keys(schema.shape);
    const inner: z.core.$ZodType | undefined = schema.shape[String(segment)];
    return inner === undefined ? [] : keysAt(inner, rest);
  }
  if (segment === undefined) return [];
  if (schema instanceof z.ZodRecord) return keysAt(schema.valueType, rest);
  if (schema instanceof z.ZodArray) return keysAt(schema.element, rest);
  return [];
}
