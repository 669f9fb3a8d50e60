// Counts vague words by folder: `npm run vague-words -- packages/server/src/http --list`.
import { parseArgs } from 'node:util';
import { isSource, parseSource, readTexts, type TextFile } from './architecture-rules/source.ts';
import { vagueWordsOfSource, vagueWordsOfText } from './architecture-rules/vague-words.ts';
import { root } from './test-runner/static-checks.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
});
if (values.help) {
  console.info(
    'Usage: npm run vague-words -- [folder …] [--list]\n\nWords that hide the actor or the meaning.',
  );
  process.exit(0);
}
const isSelected = ({ path }: TextFile): boolean =>
  positionals.length === 0 || positionals.some((each) => path.startsWith(each));
const counts = new Map<string, { prose: number; names: number }>();
for (const file of readTexts(root).filter(isSelected)) {
  if (!isSource(file) && !file.path.endsWith('.md')) continue;
  const { prose, names } = isSource(file)
    ? vagueWordsOfSource(parseSource(file))
    : vagueWordsOfText(file);
  const folder = folderOf(file.path);
  const count = counts.get(folder) ?? { prose: 0, names: 0 };
  counts.set(folder, { prose: count.prose + prose.length, names: count.names + names.length });
  if (values.list && prose.length + names.length > 0) {
    console.info(`${file.path}: ${[...prose, ...names].join(', ')}`);
  }
}
const total = { prose: 0, names: 0 };
for (const [folder, { prose, names }] of [...counts].toSorted(([a], [b]) => a.localeCompare(b))) {
  console.info(`${folder.padEnd(40)} ${String(prose).padStart(6)} ${String(names).padStart(6)}`);
  total.prose += prose;
  total.names += names;
}
console.info(`words in texts ${total.prose}, names ${total.names}`);

/** A module of the server, a package, or the first folder. */
function folderOf(path: string): string {
  const depth = path.startsWith('packages/server/src/') ? 4 : path.startsWith('packages/') ? 3 : 2;
  return path.split('/').slice(0, -1).slice(0, depth).join('/') || '.';
}
