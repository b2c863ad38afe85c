// Draws aligned columns without vertical lines, so that twelve of them fit. Knows strings only.

import CliTable from 'cli-table3';

interface TableColumn {
  readonly head: string;
  readonly align: 'left' | 'right';
}

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** Head, rule, rows. A group's name (the first cell) is written on its first row only, with a gap before the next group. */
export function drawTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string {
  const table = new CliTable({
    head: columns.map((column) => column.head),
    colAligns: columns.map((column) => column.align),
    chars: NO_LINES,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  let group: string | undefined;
  const starts = new Set<number>();
  for (const [index, row] of rows.entries()) {
    const [first = '', ...rest] = row;
    if (first !== group) starts.add(index);
    table.push([first === group ? '' : first, ...rest]);
    group = first;
  }
  const [head = '', ...body] = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  const width = Math.max(head.length, ...body.map((line) => line.length));
  const hasGroups = starts.size > 1 && starts.size < rows.length;
  const spaced = body.flatMap((line, index) =>
    hasGroups && index > 0 && starts.has(index) ? ['', line] : [line],
  );
  return [head, '─'.repeat(width), ...spaced].join('\n');
}
