// A plan and events for tests of the store.

import type { JournalEvent } from '../../src/core/records/journal.ts';
import type { Plan } from '../../src/core/records/plan.ts';

export const PLAN: Plan = {
  schemaVersion: 1,
  rota: '0.1.0',
  protocol: 'first-light',
  protocolSha256: 'ab',
  createdUtc: '2026-09-29T10:15:30.123Z',
  seed: 1,
  orderKind: 'abba',
  blocks: 1,
  baseline: 'base',
  arms: [
    {
      name: 'base',
      engine: 'fake',
      model: 'm.gguf',
      knobs: {},
      argv: ['fake'],
      env: {},
      lossyKnobs: [],
      overrides: [],
    },
  ],
  runs: [],
  workloads: [{ class: 'prose', maxNew: 8, ignoreEos: true, promptsByBlock: [], warmupPrompts: [] }],
  sampling: { temperature: 0, topP: 1, seed: 1 },
  warmup: {
    floorPromptsPerClass: 1,
    floorTokens: 1,
    windows: 3,
    maxSlopePerWindow: 1,
    maxHitRatioChange: 1,
    capRequests: 3,
    capSeconds: 10,
  },
  telemetryPeriodMs: 500,
  guards: { foreignCpuShare: 0.1, foreignGpuPercent: 15 },
  margin: 0.03,
  expectedMinutes: null,
  minDetectableEffect: null,
  assumedSpread: { value: 0.017, source: 'x' },
};

export function interrupted(signal: string): JournalEvent {
  return { type: 'interrupted', utc: '2026-09-29T10:16:00.000Z', signal };
}
