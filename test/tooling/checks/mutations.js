// Every planted mistake can still be planted. Owns how that is asked; the plan is read by test/mutate.
import { join } from 'node:path';
import { readPlan, whyNotApplicable } from '../../mutate/plan.js';
import { filesResult } from './result.js';

/**
 * @param {string} root
 * @returns {import('./result.js').CheckResult}
 */
export function mutations(root) {
  const { mutations: planned, problems } = readPlan(join(root, 'test/mutate'));
  const stale = planned.flatMap((mutation) => {
    const problem = whyNotApplicable(mutation, root);
    return problem === null ? [] : [`mutations/${mutation.room}.json: "${mutation.name}": ${problem}`];
  });
  return filesResult(planned.length, [...problems, ...stale], 'mutations');
}
