// Small pieces of Markdown that the generated documents are made of.

/** A table; a bar inside a cell would end it. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('\n', ' ').replace(/(?<!\\)\|/g, '\\|');
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** Replaces several blocks; the keys are their names. */
export function replaceBlocks(document: string, blocks: Readonly<Record<string, string>>): string {
  return Object.entries(blocks).reduce(
    (page, [name, text]) => replaceBlock(page, name, text),
    document,
  );
}

/** Puts new text between the two marks of a block; everything around it is written by hand. */
export function replaceBlock(document: string, name: string, text: string): string {
  const open = `<!-- generated: ${name} -->`;
  const close = `<!-- end of ${name} -->`;
  const from = document.indexOf(open);
  const to = document.indexOf(close);
  if (from === -1 || to < from) throw new Error(`the document has no block “${name}”`);
  return `${document.slice(0, from + open.length)}\n\n${text}\n\n${document.slice(to)}`;
}
