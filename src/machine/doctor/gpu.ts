// The GPUs as nvidia-smi sees them. Owns what makes one unfit for measuring; samples nothing over time.
import { type Finding, gib, type Sources } from './finding.ts';

const FIELDS = ['index', 'name', 'driver_version', 'memory.total', 'persistence_mode'];

export function gpu(sources: Sources): Finding {
  const name = 'GPU';
  const out = sources.run(['nvidia-smi', `--query-gpu=${FIELDS.join(',')}`, '--format=csv,noheader,nounits']);
  if (out === null)
    return { name, state: 'waived', value: 'no nvidia-smi: the host device only', remedy: null };
  const rows = out.stdout.split('\n').filter((line) => line.includes(', '));
  if (out.code !== 0 || rows.length === 0) {
    const words = `${out.stdout}\n${out.stderr}`.trim().split('\n')[0] ?? '';
    return { name, state: 'warn', value: `nvidia-smi: ${words || `exit ${out.code}`}`, remedy: 'nvidia-smi' };
  }
  const cards = rows.map((row) => row.split(', ').map((field) => field.trim()));
  const value = cards.map(
    ([index, card, driver, mib]) => `${index}: ${card}, ${memory(mib)}, driver ${driver}`,
  );
  const sleepy = cards.filter((card) => card[4] === 'Disabled');
  if (sleepy.length === 0) return { name, state: 'ok', value: value.join('; '), remedy: null };
  const note = 'persistence mode is off: the driver may unload between runs';
  return { name, state: 'warn', value: `${value.join('; ')}; ${note}`, remedy: 'sudo nvidia-smi -pm 1' };
}

/** Memory is "[N/A]" on some cards, and that is not 0. */
function memory(mib: string | undefined): string {
  const number = Number(mib);
  return mib === undefined || !Number.isFinite(number) ? 'memory n/a' : gib(number * 1024 ** 2);
}

export function gpuUsers(sources: Sources): Finding {
  const name = 'GPU users';
  const out = sources.run([
    'nvidia-smi',
    '--query-compute-apps=pid,process_name,used_memory',
    '--format=csv,noheader,nounits',
  ]);
  if (out === null) return { name, state: 'waived', value: 'no nvidia-smi', remedy: null };
  if (out.code !== 0) return { name, state: 'unknown', value: `nvidia-smi: exit ${out.code}`, remedy: null };
  const users = out.stdout.split('\n').filter((line) => /^\d+, /.test(line));
  if (users.length === 0) return { name, state: 'ok', value: 'none', remedy: null };
  const pids = users.map((line) => line.split(',')[0]).join(' ');
  return { name, state: 'warn', value: users.join('; '), remedy: `ps -fp ${pids}` };
}
