// How a GGUF's tokenizer.ggml.pre splits text before byte-level BPE. Owns the patterns; knows nothing of vocabularies.

/** Three isolated splits in this order: digits by up to three, CJK and kana runs, then words, punctuation and space. */
const DEEPSEEK_V3: readonly string[] = [
  '\\p{N}{1,3}',
  '[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+',
  [
    '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+',
    '[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+',
    ' ?[\\p{P}\\p{S}]+[\\r\\n]*',
    '\\s*[\\r\\n]+',
    '\\s+(?!\\S)',
    '\\s+',
  ].join('|'),
];

const SPLITS: ReadonlyMap<string, readonly string[]> = new Map([
  ['joyai-llm', DEEPSEEK_V3],
  ['deepseek-v3', DEEPSEEK_V3],
]);

export function knownPreTokenizers(): readonly string[] {
  return [...SPLITS.keys()];
}

/** The tokenizer.json form of a pre-tokenizer; undefined for a name that is not known: guessing would change ids silently. */
export function preTokenizer(name: string): object | undefined {
  const splits = SPLITS.get(name);
  if (splits === undefined) return undefined;
  return {
    type: 'Sequence',
    pretokenizers: [
      ...splits.map((Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false })),
      { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
    ],
  };
}
