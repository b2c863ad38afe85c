// One line on a terminal that is written over and over. Owns its clearing; on anything but a terminal it is silent.
import type { Context } from './context.ts';

export interface LiveLine {
  show(text: string): void;
  clear(): void;
}

export function createLiveLine(context: Pick<Context, 'isTerminal' | 'columns' | 'tell'>): LiveLine {
  let isShown = false;
  if (!context.isTerminal.stderr) return { show: () => {}, clear: () => {} };
  return {
    show(text) {
      const [line = ''] = text.split('\n');
      context.tell(`\r\u001b[2K${[...line].slice(0, Math.max(20, context.columns - 1)).join('')}`);
      isShown = true;
    },
    clear() {
      if (isShown) context.tell('\r\u001b[2K');
      isShown = false;
    },
  };
}
