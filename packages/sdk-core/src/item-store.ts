/** Stores of items by their keys: in memory, or in a file of JSON Lines. */
import { existsSync, readFileSync } from 'node:fs';
import {
  type AppendFile,
  createPrivateDirectory,
  openAppendFile,
  replaceFile,
  syncDirectory,
} from './append-file.ts';

export type ItemStore<Item> = {
  load(): readonly Item[];
  save(item: Item): void;
  remove(key: string): void;
};

export function memoryItemStore<Item>(keyOf: (item: Item) => string): ItemStore<Item> {
  const items = new Map<string, Item>();
  return {
    load: () => [...items.values()],
    save(item) {
      items.set(keyOf(item), item);
    },
    remove(key) {
      items.delete(key);
    },
  };
}

export type FileItemStoreOptions<Item> = {
  /** The store creates a missing directory. */
  readonly path: string;
  keyOf(item: Item): string;
  /** The member of a line that names a removed item. */
  readonly removedMember: string;
  readonly sync?: boolean;
};

const newLinesMax = 20_000;

type Line<Item> = { readonly put?: Item; readonly [removedMember: string]: unknown };

function parseLine<Item>(path: string, lineNumber: number, text: string): Line<Item> {
  try {
    return JSON.parse(text) as Line<Item>;
  } catch {
    // Without the text of the line and without the cause, which contains a part of it.
    throw new Error(
      `the file ${path} is damaged: line ${lineNumber} is not JSON. Restore the file, or move it away to start without its items.`,
    );
  }
}

/** The last line has no line end if the process stopped while it was written: it is ignored. */
function readItems<Item>({ path, keyOf, removedMember }: FileItemStoreOptions<Item>) {
  const items = new Map<string, Item>();
  if (!existsSync(path)) return items;
  for (const [index, text] of readFileSync(path, 'utf8').split('\n').slice(0, -1).entries()) {
    const line = parseLine<Item>(path, index + 1, text);
    if (line.put !== undefined) items.set(keyOf(line.put), line.put);
    else items.delete(String(line[removedMember]));
  }
  return items;
}

/**
 * Appends each change to the file. It rewrites the file without removed items at each start and
 * after a number of lines. A change that cannot be written throws and has no effect.
 */
export function fileItemStore<Item>(
  options: FileItemStoreOptions<Item>,
): ItemStore<Item> & { close(): void } {
  const { path, keyOf, removedMember, sync = true } = options;
  createPrivateDirectory(path);
  const items = readItems(options);
  let file = rewrite();
  let newLines = 0;

  function rewrite(): AppendFile {
    const text = [...items.values()].map((put) => `${JSON.stringify({ put })}\n`).join('');
    replaceFile(path, text, { sync });
    if (sync) syncDirectory(path);
    return openAppendFile(path, Buffer.byteLength(text), { sync });
  }

  function append(line: Line<Item>): void {
    if (newLines >= newLinesMax) {
      const newFile = rewrite();
      file.close();
      file = newFile;
      newLines = 0;
    }
    file.add(`${JSON.stringify(line)}\n`);
    newLines += 1;
  }

  return {
    load: () => [...items.values()],
    save(item) {
      append({ put: item });
      items.set(keyOf(item), item);
    },
    remove(key) {
      if (!items.has(key)) return;
      append({ [removedMember]: key });
      items.delete(key);
    },
    close: () => file.close(),
  };
}
