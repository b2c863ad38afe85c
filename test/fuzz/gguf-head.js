// The head of a GGUF, taken apart, made smaller and put together again. Owns the container's order; knows no model.

const BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const STRING = 8;
const ARRAY = 9;
const I64 = 11;

/**
 * @typedef {{name: string, type: number, element: number, count: number, payload: Buffer}} Key  element, count: of an
 * array; else as type, and 1
 * @typedef {{name: string, ne: number[], format: number}} Tensor
 * @typedef {{keys: Key[], tensors: Tensor[]}} Head
 * @param {Buffer} file
 * @returns {Head}
 */
export function readHead(file) {
  let at = 24;
  const skip = (/** @type {number} */ bytes) => {
    at += bytes;
    return at - bytes;
  };
  const u64 = () => Number(file.readBigUInt64LE(skip(8)));
  const u32 = () => file.readUInt32LE(skip(4));
  const name = () => file.toString('utf8', skip(u64()), at);
  const payload = (/** @type {number} */ type, /** @type {number} */ count) => {
    const start = at;
    if (type === STRING) for (let i = 0; i < count; ++i) skip(u64());
    else skip((BYTES[type] ?? 0) * count);
    return file.subarray(start, at);
  };
  const keys = Array.from({ length: Number(file.readBigUInt64LE(16)) }, () => {
    const key = { name: name(), type: u32(), element: 0, count: 1, payload: file };
    key.element = key.type === ARRAY ? u32() : key.type;
    key.count = key.type === ARRAY ? u64() : 1;
    key.payload = payload(key.element, key.count);
    return key;
  });
  const tensors = Array.from({ length: Number(file.readBigUInt64LE(8)) }, () => {
    const tensor = { name: name(), ne: Array.from({ length: u32() }, u64), format: u32() };
    skip(8);
    return tensor;
  });
  return { keys, tensors };
}

/** @param {number} value */
function u32(value) {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(value);
  return out;
}

/** @param {number} value */
function u64(value) {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out;
}

/** @param {string} name */
const named = (name) => Buffer.concat([u64(Buffer.byteLength(name)), Buffer.from(name)]);

/**
 * All tensors lie on one another at the beginning of the data: a reader that only wants them to be inside the file takes that.
 * @param {Head} head
 */
export function writeHead({ keys, tensors }) {
  const out = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(keys.length)];
  for (const { name, type, element, count, payload } of keys) {
    out.push(named(name), u32(type));
    if (type === ARRAY) out.push(u32(element), u64(count));
    out.push(payload);
  }
  for (const { name, ne, format } of tensors)
    out.push(named(name), u32(ne.length), ...ne.map(u64), u32(format), u64(0));
  return Buffer.concat(out);
}

/**
 * The key with one number or a list of them, in the type that it has; a number n for a list: its first n.
 * @param {Key} key
 * @param {number | number[]} value
 * @returns {Key}
 */
export function withValue(key, value) {
  const each = BYTES[key.element] ?? 1;
  if (key.type === ARRAY && typeof value === 'number')
    return { ...key, count: value, payload: key.payload.subarray(0, each * value) };
  const values = typeof value === 'number' ? [value] : value;
  const put = (/** @type {number} */ number) => (each === 8 ? u64(number) : u32(number));
  if (each !== 4 && key.element < I64 - 1) throw new Error(`${key.name} holds no integers`);
  return { ...key, count: values.length, payload: Buffer.concat(values.map(put)) };
}

/** A key of every type, and an array of every type that may be in one. @returns {Head} */
export function everyKind() {
  const types = BYTES.map((_, type) => type).filter((type) => type !== ARRAY);
  const value = (/** @type {number} */ type) =>
    type === STRING ? named('x') : Buffer.alloc(BYTES[type] ?? 0);
  return {
    keys: types.flatMap((type) => [
      { name: `v${type}`, type, element: type, count: 1, payload: value(type) },
      {
        name: `a${type}`,
        type: ARRAY,
        element: type,
        count: 2,
        payload: Buffer.concat([value(type), value(type)]),
      },
    ]),
    tensors: [
      { name: 't', ne: [1], format: 0 },
      { name: 'u', ne: [2, 1, 1, 1], format: 1 },
    ],
  };
}
