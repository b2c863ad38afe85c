// Memory and threads that the system refuses: at every single large allocation of a load the engine ends with 4 and one line, and
// what a request asks for itself costs the request alone.

import { describe, expect, test } from 'vitest';
import { createSwitch, suffering } from './helpers/faults.ts';
import { generateOnce, type Json, promptOf, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const prompt = promptOf(20, 128);
const ask = { id: 90, op: 'generate', prompt, max_new: 6, ignore_eos: true };
/** Small against the mini model's caches, large against what the C++ library takes for itself. */
const LARGE = 16 * 1024;
const AT_ONCE = 4;

const args = (): string[] => ['--model', model, '--slots', '20%', '--arena', '20%', '--threads', '2'];

/** How it ends when one request is all that it is asked. */
async function outcome(
  env: Record<string, string>,
  ...knobs: string[]
): Promise<{ code: number | null; stderr: string; answer: string }> {
  const engine = new Strata([...args(), ...knobs], env);
  engine.send(ask);
  engine.child.stdin.end();
  const { code, signal, stderr } = await engine.exited;
  expect(signal).toBe(null);
  const answer = engine.events.find(({ event }) => event === 'done' || event === 'error');
  return { code, stderr, answer: `${answer?.['event']} ${answer?.['code'] ?? ''}`.trim() };
}

function expectRefusal({ code, stderr, answer }: Awaited<ReturnType<typeof outcome>>): void {
  if (code === 0) {
    expect(answer).toBe('error out_of_memory');
    return;
  }
  expect(stderr).toMatch(/^rota-strata: out of memory: [^\n]+; (lower --[a-z-]+|no knob lowers [^\n]+)\n$/);
  expect(code).toBe(4);
}

describe('memory refused at every large allocation', () => {
  test('is exit 4 with bytes and a knob, or one failed request; never a crash', async () => {
    const knobs = new Set<string>();
    let refused = 0;
    for (let nth = 1; ; nth += AT_ONCE) {
      const turns = Array.from({ length: AT_ONCE }, (_, i) => nth + i);
      const outcomes = await Promise.all(
        turns.map((turn) => outcome(suffering(['memory', { least: LARGE, nth: turn }]))),
      );
      const bad = outcomes.filter(({ answer }) => answer !== 'done');
      for (const each of bad) {
        expectRefusal(each);
        knobs.add(/asked in all [\d.]+ \w+ \(.*\); lower (--[a-z-]+)/.exec(each.stderr)?.[1] ?? 'none');
      }
      refused += bad.length;
      if (bad.length === 0) break;
    }
    // Were the library not there, or the allocations not seen, the first turn would end it.
    expect(refused).toBeGreaterThan(50);
    expect(knobs.size).toBeGreaterThan(1);
  });

  test('a thread that cannot be started is exit 4 too, whichever it is', async () => {
    // The compute threads and readers that came before the refused one are to be ended.
    const knobs = ['--threads', '4', '--file-readers', '3'];
    const turns = Array.from({ length: 9 }, (_, i) => i + 1);
    const ends = await Promise.all(turns.map((nth) => outcome(suffering(['thread', { nth }]), ...knobs)));
    for (const end of ends) expectRefusal(end);
    const said = ends.map(({ stderr }) => stderr).join('');
    expect(said).toContain('cannot start compute thread 2 of 4');
    expect(said).toContain('cannot start file reader 2 of 3');
  });
});

describe('what a pass needs', () => {
  // A long context, because what selects among its groups is what a task needs most of; and a file tier, because its readers are
  // threads of their own, each with a buffer.
  test.each([
    ['100%', '0', '100000'],
    ['10%', '10%', '1000'],
  ])(
    'was taken at the load: none is lost when nothing more is to be had (slots %s, arena %s)',
    async (slots, arena, ctx) => {
      const knobs = ['--model', model, '--slots', slots, '--arena', arena, '--threads', '2', '--ctx', ctx];
      const { done } = await generateOnce(knobs, ask);
      const now = createSwitch(folder.path, `now-${ctx}`);
      const env = suffering(['memory', { least: LARGE, nth: 0, when: now.file }]);
      const { engine } = await Strata.start(knobs, env);
      await using _ = engine;
      now.on();
      expect((await engine.generate(ask)).ids).toEqual(done[0]?.ids);
    },
  );
});

/** Were the line lost, nothing would ever answer it: without more of them the engine ends, and that is no answer. */
function lastAnswer(engine: Strata): Promise<Json> {
  engine.send(ask);
  engine.child.stdin.end();
  return engine.next('done');
}

describe('what a request itself asks for', () => {
  test('is refused alone: the engine answers the next one', async () => {
    const now = createSwitch(folder.path);
    const env = suffering(['memory', { least: 300_000, nth: 0, when: now.file }]);
    const { engine } = await Strata.start([...args(), '--ctx', '100000'], env);
    await using _ = engine;
    const good = await engine.generate(ask);
    now.on();
    // The lists of 90,000 tokens and their times are larger than what is refused.
    engine.send({ ...ask, id: 91, max_new: 90_000 });
    const error = await engine.next('error');
    expect(error).toMatchObject({ id: 91, code: 'out_of_memory' });
    // A line is memory too.
    engine.send({ ...ask, id: 92, prompt: promptOf(95_000, 128), max_new: 1 });
    expect(await engine.next('error')).toMatchObject({ code: 'out_of_memory' });
    now.off();
    expect((await lastAnswer(engine))['ids']).toEqual(good.ids);
  });

  // A pipe gives 64 KiB at a time and what is kept grows by doubling, so that growing to 512 KiB is refused in one of the line's last
  // reads, with its newline or without: the next line must not be taken for the rest of it.
  test.each([0, 1, 100, 65_535, 65_536, 65_537])(
    'a line that is refused %i bytes before its end takes nothing with it',
    async (rest) => {
      const now = createSwitch(folder.path);
      const env = suffering(['memory', { least: 300_000, nth: 0, when: now.file }]);
      const { engine } = await Strata.start(args(), env);
      await using _ = engine;
      const good = await engine.generate(ask);
      now.on();
      const line = '{"id":91,"op":"generate","prompt":[';
      engine.send(`${line.padEnd(262_145 + rest, ' ')}\n${JSON.stringify({ ...ask, id: 92 })}`);
      expect(await engine.next('error')).toMatchObject({ code: 'out_of_memory' });
      now.off();
      engine.child.stdin.end();
      expect((await engine.next('done'))['ids']).toEqual(good.ids);
    },
  );
});
