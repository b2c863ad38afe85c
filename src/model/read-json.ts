// A JSON file beside a model's weights. Knows no keys.
import { readFileSync } from 'node:fs';
import { EngineError } from '../core/errors.ts';

export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineError(`${path}: not JSON: ${why}`, { phase: 'load' });
  }
}
