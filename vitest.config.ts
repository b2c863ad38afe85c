// How the tests run: two workers at most, because measuring tests share the machine with the compiler.
import { defineConfig } from 'vitest/config';

/** Tests of functions without state: their files share a process, which takes half the time of starting one for each. */
const PURE = ['test/core/**/*.test.ts', 'test/schema/**/*.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: 'pure', include: PURE, isolate: false } },
      { extends: true, test: { name: 'processes', include: ['test/**/*.test.ts'], exclude: PURE } },
    ],
  },
});
