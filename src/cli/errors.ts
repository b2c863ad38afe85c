// What a user reads when something went wrong, and the exit code. Owns the form of every message; throws none.
import { CommanderError } from '@commander-js/extra-typings';
import { EngineError, EXIT, type ExitCode, InvalidRecordError, UserError } from '../core/errors.ts';
import { systemTrouble } from '../core/system-error.ts';
import { Interrupted } from '../run/interrupts.ts';
import { formatProblem, ProblemsError } from '../schema/problems.ts';

export interface Failure {
  readonly exitCode: ExitCode;
  readonly text: string;
}

export interface Facts {
  readonly versions: string;
  readonly runFolder: string | null;
  /** Name of a run that can be finished, when one was begun. */
  readonly resumable: string | null;
  /** The command that shows what can be typed here. */
  readonly help: string;
}

/** Exit codes of the engine contract with which an engine says in one line what was wrong. */
const ENGINE_SAYS_WHY: ReadonlySet<unknown> = new Set([2, 3, 4]);

export function describeFailure(error: unknown, facts: Facts): Failure {
  if (error instanceof CommanderError) return commanderFailure(error, facts.help);
  if (error instanceof ProblemsError) return { exitCode: error.exitCode, text: problemLines(error) };
  if (error instanceof UserError) return { exitCode: error.exitCode, text: userLine(error) };
  if (error instanceof EngineError) return { exitCode: error.exitCode, text: engineText(error) };
  if (error instanceof Interrupted) {
    const goOn = facts.resumable === null ? '' : `; go on with: rota resume ${facts.resumable}`;
    return { exitCode: error.exitCode, text: `rota: ${error.message}${goOn}` };
  }
  if (error instanceof InvalidRecordError)
    return { exitCode: error.exitCode, text: oneLine(`rota: ${error.message}`) };
  const trouble = systemTrouble(error);
  if (trouble !== null) return { exitCode: EXIT.couldNotMeasure, text: oneLine(`rota: ${trouble}`) };
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const folder = facts.runFolder === null ? [] : [`run folder: ${facts.runFolder}`];
  const lines = [
    'rota: this is a bug in Rota; please report it with these lines',
    stack,
    facts.versions,
    ...folder,
  ];
  return { exitCode: EXIT.bug, text: lines.join('\n') };
}

/** What is wrong at a place in a file begins with it, so that an editor can jump there; an option is no such place. */
function speaker(place: string): string {
  return place === '' || place.startsWith('-') ? 'rota: ' : '';
}

function problemLines(error: ProblemsError): string {
  const lines = error.problems.map((problem) =>
    oneLine(`${speaker(problem.where || problem.path)}${formatProblem(problem)}`),
  );
  const more = lines.length - MOST_PROBLEMS;
  return [...lines.slice(0, MOST_PROBLEMS), ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
}

/** A file that is something else altogether has thousands. */
const MOST_PROBLEMS = 12;
const MOST_CHARACTERS = 400;

/** What a message quotes comes from outside: it must neither break the line nor command the terminal. */
function oneLine(text: string): string {
  const shown = text.replace(/\p{Cc}/gu, '\ufffd');
  return shown.length > MOST_CHARACTERS ? `${shown.slice(0, MOST_CHARACTERS - 1)}…` : shown;
}

/** What, where, what to do, in one line. */
function userLine({ where = '', message, hint }: UserError): string {
  return oneLine(speaker(where) + formatProblem({ where, path: '', message, ...(hint && { hint }) }));
}

function engineText(error: EngineError): string {
  const last = error.logTail.at(-1);
  const first = `rota: ${error.message}`;
  if (last === undefined) return first;
  if (error.logTail.length === 1 || ENGINE_SAYS_WHY.has(error.exit)) return `${first}: ${last.trim()}`;
  return [`${first}; its last words:`, ...error.logTail.map((line) => `  | ${line}`)].join('\n');
}

const SHOWS_HELP: ReadonlySet<string> = new Set(['commander.helpDisplayed', 'commander.version']);

/** Commander says "error: …" and puts its suggestion on a second line. */
function commanderFailure(error: CommanderError, help: string): Failure {
  if (SHOWS_HELP.has(error.code)) return { exitCode: EXIT.pass, text: '' };
  // Without any word: the help was the answer, and yet nothing was done.
  if (error.code === 'commander.help')
    return { exitCode: error.exitCode === 0 ? EXIT.pass : EXIT.usage, text: '' };
  const [first = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const hint = suggestion?.replace(/^\((.*)\)$/, '$1').replace(/^Did/, 'did') ?? `see ${help}`;
  return { exitCode: EXIT.usage, text: `rota: ${first.replace(/\.$/, '')}; ${hint}` };
}
