// How a report looks where it is printed: colours or none, Unicode or plain ASCII, and how wide. Decides nothing else.

export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly green: (text: string) => string;
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
}

export interface Look {
  readonly paint: Paint;
  readonly ascii: boolean;
  /** Columns of the terminal; lines of text are folded there, tables are at most 120 wide for names of usual length. */
  readonly width: number;
}

const same = (text: string): string => text;

export const NO_PAINT: Paint = { bold: same, dim: same, green: same, red: same, yellow: same };

const ASCII: Readonly<Record<string, string>> = {
  '×': 'x',
  '–': '-',
  '—': '-',
  '−': '-',
  '─': '-',
  '·': '|',
  '…': '~',
  '’': "'",
  '≤': '<=',
  '≥': '>=',
  '≠': '!=',
  '≈': '~',
  '→': '->',
  Δ: 'd',
};

/** Only the characters that Rota itself writes are replaced; a user's own words stay what they are. */
export function inLook(text: string, look: Look): string {
  return look.ascii ? text.replace(/[×–—−─·…’≤≥≠≈→Δ]/g, (character) => ASCII[character] ?? character) : text;
}

/** Folds words at the width; continued lines are indented. A word that is too long stays whole. */
export function fold(text: string, width: number, indent: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.trim() !== '' && line.length + 1 + word.length > width) {
      lines.push(line.trimEnd());
      line = indent + word;
    } else {
      line = line === '' && lines.length === 0 ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join('\n');
}
