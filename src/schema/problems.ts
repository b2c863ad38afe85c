// What is wrong with a file a user wrote: where, what, and what to write instead. All problems of a file are told at once.

import { UserError } from '../core/errors.ts';

export interface Problem {
  /** file:line:column, or less where there is no more to say. */
  readonly where: string;
  /** Dotted path inside the file; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

/** Notes a problem of one file at a path in it. */
export type AddProblem = (path: (string | number)[], message: string, hint?: string) => void;

/** A UserError that still knows its problems one by one, so that several files can be checked and told about together. */
export class ProblemsError extends UserError {
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'ProblemsError';
    this.problems = problems;
  }
}

export function formatProblem(problem: Problem): string {
  const hint = problem.hint === undefined ? '' : `; ${problem.hint}`;
  return [problem.where, problem.path, problem.message].filter((part) => part !== '').join(': ') + hint;
}

/** Throws one error that names every problem, one a line; does nothing when there is none. */
export function throwProblems(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new ProblemsError(problems);
}

/** Runs a step whose problems join the others instead of hiding them. */
export function collectProblems<T>(problems: Problem[], step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof ProblemsError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}
