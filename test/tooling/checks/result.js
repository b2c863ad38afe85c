// What every check answers. Owns the shape; knows no check.

/**
 * @typedef {object} CheckResult
 * @property {number} passed things that were looked at and are good; a check that saw nothing has failed
 * @property {readonly string[]} failures one line each
 * @property {number} [failed] how many failed, where that is not one
 * @property {string} [note] shown beside the counts
 */

/**
 * A check whose subject is files: seeing none means that the check itself is broken.
 * @param {number} seen
 * @param {readonly string[]} failures
 * @param {string} what
 * @returns {CheckResult}
 */
export function filesResult(seen, failures, what) {
  if (seen === 0) return { passed: 0, failures: [`saw no ${what}: the check guards nothing`] };
  return { passed: failures.length === 0 ? 1 : 0, failures, note: `${seen} ${what}` };
}
