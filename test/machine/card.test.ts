// The machine's card: read from this machine, and a key that only stable fields decide.

import { expect, test } from 'vitest';
import { machineKey, readMachineCard } from '../../src/machine/card.ts';

test('this machine has a card', async () => {
  const card = await readMachineCard();
  expect(card.cpu.threads).toBeGreaterThan(0);
  expect(card.memory.totalBytes).toBeGreaterThan(0);
  expect(card.lastLevelCacheBytes === null || card.lastLevelCacheBytes > 0).toBe(true);
  expect(card.key).toMatch(/^[0-9a-f]{64}$/);
  expect(machineKey(card)).toBe(card.key);
  expect(machineKey({ ...card, cpuMhz: 1, governor: 'performance', node: 'v0' })).toBe(card.key);
  expect(machineKey({ ...card, cpu: { ...card.cpu, cores: 999 } })).not.toBe(card.key);
});
