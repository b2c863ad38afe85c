// A gate's finding as JUnit XML: a suite for each rule, a case for each arm and class. Owns what XML 1.0 cannot carry.

import type { GateCheck, GateFinding } from '../../core/gate/gate.ts';
import { gateLine } from './text.ts';

export function gateJunit(finding: GateFinding): string {
  const rules = [...new Set(finding.checks.map(({ rule }) => rule))];
  const suites = rules.map((rule) =>
    suite(
      rule,
      finding.checks.filter((check) => check.rule === rule),
    ),
  );
  // A gate that compared nothing must not look like one without failures.
  if (finding.checks.length === 0) suites.push(whole(finding));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="rota gate"${counts(finding.checks, finding)}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function counts(checks: readonly GateCheck[], finding?: GateFinding): string {
  const of = (element: Element): number => checks.filter((check) => elementOf(check) === element).length;
  const extra = finding !== undefined && checks.length === 0 ? 1 : 0;
  return ` tests="${checks.length + extra}" failures="${of('failure')}" errors="${of('error') + extra}" skipped="${of('skipped')}"`;
}

type Element = 'failure' | 'error' | 'skipped' | null;

function elementOf({ outcome }: GateCheck): Element {
  switch (outcome) {
    case 'fail':
      return 'failure';
    case 'missing':
      return 'error';
    case 'inconclusive':
    case 'unknown':
      return 'skipped';
    case 'pass':
    case 'allowed':
      return null;
  }
}

function suite(rule: string, checks: readonly GateCheck[]): string {
  return [
    `  <testsuite name="${xml(rule)}"${counts(checks)}>`,
    ...checks.map(testcase),
    '  </testsuite>',
  ].join('\n');
}

function testcase(check: GateCheck): string {
  const { ratio, text } = check;
  const properties =
    ratio === null
      ? ''
      : `<properties>${ratio
          .map((value, i) => `<property name="${['lower', 'ratio', 'upper'][i]}" value="${value}"/>`)
          .join('')}</properties>`;
  const element = elementOf(check);
  const body =
    element === null ? `<system-out>${xml(text)}</system-out>` : `<${element} message="${xml(text)}"/>`;
  const name = `${check.arm}${check.class === null ? '' : ` ${check.class}`}`;
  return `    <testcase classname="${xml(check.rule)}" name="${xml(name)}">${properties}${body}</testcase>`;
}

function whole(finding: GateFinding): string {
  const text = xml(gateLine(finding));
  return `  <testsuite name="gate" tests="1" failures="0" errors="1" skipped="0">\n    <testcase classname="gate" name="comparison"><error message="${text}"/></testcase>\n  </testsuite>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** XML 1.0 has no word at all for most control characters. */
export function xml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
    .replace(/[\t\n\r]/g, ' ');
}
