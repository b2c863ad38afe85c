// Writes GGUF headers for tests. Owns bytes only; a test says which keys, and which lie, it wants.

export type Key =
  | { readonly type: 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32' | 'f32' | 'f64'; readonly value: number }
  | { readonly type: 'u64' | 'i64'; readonly value: bigint }
  | { readonly type: 'bool'; readonly value: boolean | number }
  | { readonly type: 'string'; readonly value: string }
  | {
      readonly type: 'array';
      readonly of: Exclude<Key['type'], 'array'>;
      readonly values: readonly unknown[];
    };

const NUMBER = {
  u8: 0,
  i8: 1,
  u16: 2,
  i16: 3,
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  string: 8,
  array: 9,
  u64: 10,
  i64: 11,
  f64: 12,
} as const;

export function u32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(value);
  return out;
}

export function u64(value: number | bigint): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out;
}

export function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([u64(bytes.length), bytes]);
}

function scalar(type: string, value: unknown): Buffer {
  const out = Buffer.alloc(8);
  switch (type) {
    case 'u8':
      out.writeUInt8(Number(value));
      return out.subarray(0, 1);
    case 'bool':
      out.writeUInt8(Number(value));
      return out.subarray(0, 1);
    case 'i8':
      out.writeInt8(Number(value));
      return out.subarray(0, 1);
    case 'u16':
      out.writeUInt16LE(Number(value));
      return out.subarray(0, 2);
    case 'i16':
      out.writeInt16LE(Number(value));
      return out.subarray(0, 2);
    case 'u32':
      out.writeUInt32LE(Number(value));
      return out.subarray(0, 4);
    case 'i32':
      out.writeInt32LE(Number(value));
      return out.subarray(0, 4);
    case 'f32':
      out.writeFloatLE(Number(value));
      return out.subarray(0, 4);
    case 'f64':
      out.writeDoubleLE(Number(value));
      return out;
    case 'u64':
      out.writeBigUInt64LE(BigInt(String(value)));
      return out;
    case 'i64':
      out.writeBigInt64LE(BigInt(String(value)));
      return out;
    default:
      return text(String(value));
  }
}

export function keyBytes(name: string, key: Key): Buffer {
  const head = [text(name), u32(NUMBER[key.type])];
  if (key.type !== 'array') return Buffer.concat([...head, scalar(key.type, key.value)]);
  const items = key.values.map((value) => scalar(key.of, value));
  return Buffer.concat([...head, u32(NUMBER[key.of]), u64(items.length), ...items]);
}

export function header(
  keys: Readonly<Record<string, Key>>,
  changes: { version?: number; tensors?: number; count?: number } = {},
): Buffer {
  const body = Object.entries(keys).map(([name, key]) => keyBytes(name, key));
  return Buffer.concat([
    Buffer.from('GGUF'),
    u32(changes.version ?? 3),
    u64(changes.tensors ?? 0),
    u64(changes.count ?? body.length),
    ...body,
  ]);
}

/** GPT-2's map from bytes to printable characters, in byte order: what a byte-level vocabulary is spelt in. */
export function byteTokens(): string[] {
  const printable = (b: number): boolean =>
    (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(printable(b) ? b : next++));
}

export const SPECIALS = ['<｜begin▁of▁sentence｜>', '<｜end▁of▁sentence｜>', '<｜User｜>'];

export function tokenizerKeys(
  merges: readonly string[],
  changes: Readonly<Record<string, Key>> = {},
): Record<string, Key> {
  const merged = [...new Set(merges.map((line) => line.replace(' ', '')))];
  const tokens = [...SPECIALS, ...byteTokens(), ...merged];
  return {
    'tokenizer.ggml.model': { type: 'string', value: 'gpt2' },
    'tokenizer.ggml.pre': { type: 'string', value: 'joyai-llm' },
    'tokenizer.ggml.tokens': { type: 'array', of: 'string', values: tokens },
    'tokenizer.ggml.token_type': {
      type: 'array',
      of: 'i32',
      values: tokens.map((_, id) => (id < SPECIALS.length ? 3 : 1)),
    },
    'tokenizer.ggml.merges': { type: 'array', of: 'string', values: merges },
    'tokenizer.ggml.bos_token_id': { type: 'u32', value: 0 },
    'tokenizer.ggml.eos_token_id': { type: 'u32', value: 1 },
    ...changes,
  };
}
