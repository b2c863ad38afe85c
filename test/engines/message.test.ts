// What a line on stdout is: a message or not, and what becomes of numbers that JSON cannot carry.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseMessage } from '../../src/engines/message.ts';

test('a message is an object with an event', () => {
  expect(parseMessage('{"event":"done","id":3,"x":1}')).toEqual({
    event: 'done',
    id: 3,
    body: { event: 'done', id: 3, x: 1 },
    nonFinite: false,
  });
  expect(parseMessage('{"event":"ready"}')?.id).toBeNull();
});

test.each([
  ['a banner', 'Loading model ...'],
  ['an array', '[{"event":"done"}]'],
  ['no event', '{"id":3}'],
  ['half a line', '{"event":"done","id":3'],
  ['an event that is no word', '{"event":7}'],
  ['nothing', ''],
])('%s is no message', (_, line) => {
  expect(parseMessage(line)).toBeNull();
});

test.each(['NaN', 'nan', '-nan', 'Infinity', '-Infinity', 'inf', '-inf', '1e999', '-1e999'])(
  '%s is not known',
  (word) => {
    const message = parseMessage(`{"event":"done","id":1,"ms":${word},"all":[1,${word}],"text":"NaN inf"}`);
    expect(message?.body).toEqual({ event: 'done', id: 1, ms: null, all: [1, null], text: 'NaN inf' });
    expect(message?.nonFinite).toBe(true);
  },
);

test('every JSON object comes through unchanged, whatever words its texts hold', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('NaN', 'a "nan" b\\', 'inf\n'));
  const json = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), text));
  fc.assert(
    fc.property(json, (object) => {
      const line = JSON.stringify({ ...object, event: 'x', id: 1 });
      expect(parseMessage(line)?.body).toEqual(JSON.parse(line));
      const broken = `${line.slice(0, -1)},"late":NaN}`;
      expect(parseMessage(broken)?.body).toEqual({ ...JSON.parse(line), late: null });
    }),
  );
});

test('no line makes it throw', () => {
  fc.assert(fc.property(fc.string(), (line) => void parseMessage(`{${line}`)));
});
