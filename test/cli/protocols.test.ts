// The protocols that come with Rota: each is whole, and its prompts are enough for every block and all different.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadProtocol } from '../../src/schema/load.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILES = readdirSync(join(ROOT, 'protocols')).filter((name) => name.endsWith('.yaml'));
const load = (name: string) => loadProtocol(join(ROOT, 'protocols', name), join(ROOT, 'engines'));

it('there are some', () => {
  expect(FILES).toContain('first-light.yaml');
});

describe.each(FILES)('%s', (name) => {
  it('is valid, against its engine and its prompts', () => {
    const { protocol } = load(name);
    expect(`${protocol.name}.yaml`).toBe(name);
    expect(protocol.summary).not.toBe('');
  });
  it('has prompts that are not shared between classes', () => {
    const texts = Object.values(load(name).prompts).flatMap((file) =>
      [...file.prompts, ...file.warmup].map((prompt) => prompt.text.trim()),
    );
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe('the first protocol', () => {
  it('compares where the experts lie, no drafts, and a bent router, on the bundled model', () => {
    const { arms, protocol } = load('first-light.yaml');
    expect(arms).toEqual({
      base: { slots: '25%', arena: '25%' },
      ram: { slots: '0', arena: '100%' },
      plain: { slots: '25%', arena: '25%', depth: 0 },
      bias: { slots: '25%', arena: '25%', 'route-bias': 0.5, 'route-bias-file': 0.3 },
    });
    expect(protocol).toMatchObject({
      model: { bundled: 'mini' },
      baseline: 'base',
      blocks: 4,
      order: 'balanced',
      sampling: { temperature: 0 },
    });
  });
  it('has at least 16 prompts and 6 more to warm up with, of each class', () => {
    const { prompts } = load('first-light.yaml');
    expect(Object.keys(prompts)).toEqual(['enumeration', 'prose', 'code']);
    for (const file of Object.values(prompts)) {
      expect(file.prompts.length).toBeGreaterThanOrEqual(16);
      expect(file.warmup.length).toBeGreaterThanOrEqual(6);
    }
  });
});
