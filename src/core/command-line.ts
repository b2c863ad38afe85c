// A command as a person would type it in a shell. Knows words only.

const SAFE = /^[A-Za-z0-9_@%+=:,./-]+$/;

function quoted(word: string): string {
  return SAFE.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function commandLine(argv: readonly string[], env: Readonly<Record<string, string>>): string {
  const variables = Object.entries(env)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${quoted(value)}`);
  return [...variables, ...argv.map(quoted)].join(' ');
}
