// Shapes and rows of the page. Text is HTML, so that it stays readable at any width; only shapes are drawn, on a ground 1000 wide.

export const WIDTH = 1000;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** One colour for each part of a whole; there are never more. */
export const color = (index: number): string => `var(--c${index % 6})`;

const px = (value: number): string => String(Number(value.toFixed(2)));

export function rect(x: number, y: number, width: number, height: number, fill: string, title = ''): string {
  const label = title === '' ? '' : `<title>${escaped(title)}</title>`;
  return `<rect x="${px(x)}" y="${px(y)}" width="${px(Math.max(0, width))}" height="${px(height)}" style="fill:${fill}">${label}</rect>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 2): string {
  return `<line x1="${px(x1)}" y1="${px(y1)}" x2="${px(x2)}" y2="${px(y2)}" style="stroke:${stroke};stroke-width:${width}"/>`;
}

/** `shapes`: on 1000 × 22, stretched to the room there is. */
export function track(shapes: readonly string[], label: string): string {
  return `<svg viewBox="0 0 ${WIDTH} 22" preserveAspectRatio="none" role="img" aria-label="${escaped(label)}">${shapes.join('')}</svg>`;
}

export function row(name: string, shapes: readonly string[], value: string): string {
  return `<div class="row"><span class="name">${escaped(name)}</span>${track(shapes, `${name}: ${value}`)}<span class="value">${escaped(value)}</span></div>`;
}

export interface Part {
  readonly name: string;
  readonly value: number;
}

/** Parts laid end to end; `max` is the width of the ground. */
export function stacked(parts: readonly Part[], max: number, names: readonly string[]): string[] {
  let at = 0;
  return parts.map(({ name, value }) => {
    const width = max > 0 ? (WIDTH * value) / max : 0;
    const shape = rect(
      at,
      3,
      width,
      16,
      color(names.indexOf(name)),
      `${name} ${Number(value.toPrecision(4))}`,
    );
    at += width;
    return shape;
  });
}

export function key(names: readonly string[]): string {
  return keyOf(Object.fromEntries(names.map((name, i) => [name, color(i)])));
}

/** The colour of each name. */
export function keyOf(colors: Readonly<Record<string, string>>): string {
  const items = Object.entries(colors).map(
    ([name, fill]) => `<span><i style="background:${fill}"></i>${escaped(name)}</span>`,
  );
  return `<p class="key">${items.join('')}</p>`;
}

/** `id` is what a test looks for: a figure without a shape was not drawn. */
export function figure(id: string, title: string, note: string, body: string): string {
  return `<section id="${id}" class="figure"><h2>${escaped(title)}</h2><p class="dim">${escaped(note)}</p>${body}</section>`;
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, words: readonly string[]): string =>
    words.map((word) => `<${tag}>${escaped(word)}</${tag}>`).join('');
  const body = rows.map((words) => `<tr>${cells('td', words)}</tr>`).join('');
  return `<div class="scroll"><table><thead><tr>${cells('th', heads)}</tr></thead><tbody>${body}</tbody></table></div>`;
}
