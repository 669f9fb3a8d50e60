// Counts words that hide the actor or the meaning: pronouns as subjects, personified code, bare participles as names.
import type { Node } from 'oxc-parser';
import {
  type Fault,
  isSource,
  parseSource,
  type SourceFile,
  type TextFile,
  walk,
} from './source-files.ts';

export type VagueWords = { texts: string[]; names: string[] };
export type VagueWordCounts = Record<string, { texts: number; names: number }>;

/** The limits of the folders; they only go down, by `npm run vague-words -- --lower-limits`. */
export const limitsFile = 'tools/architecture-rules/vague-word-limits.json';
const noVagueWords = { texts: 0, names: 0 };

/** In comments, texts and documents: name the client, the host, the server instead. */
const vagueProse =
  /\b(?:who(?:m|ever)?|(?:no|some|any|every)body|whatever|meanwhile|no matter|tells?|told|(?:is|are|was|were|be|been) asked|anew|stands|stood|standing|owes?|heard|hears)\b|(?:^|[.;:,]\s+)what\b/gi;

/** Prepositions, pronouns and participles that are the whole name of a value, a function or a type. */
const vagueNames = new Set(
  'of by in on off with told asked said shown kept held given taken seen left gone standing known found wanted own mine ours theirs it that this these those ones both such what who whose none between bare named short back away here there ask tell say give take keep hold look looks stand judge verdict place places lane lanes mark marks turn turns rivals stranger strangers room rooms house door doors'.split(
    ' ',
  ),
);
const vagueParts = new Set(
  'told asked said shown kept standing rivals stranger strangers rival room rooms house door doors roof whoever nobody anew lane lanes scene scenes shop shops'.split(
    ' ',
  ),
);

/** Source files and documents; code blocks of documents do not count. */
export function isCounted(file: TextFile): boolean {
  return isSource(file) || file.path.endsWith('.md');
}

/** The vague words of one file, one item for each use. */
export function vagueWordsOf(file: TextFile): VagueWords {
  if (!isSource(file)) {
    return { texts: proseIn(file.text.replace(/^```[\s\S]*?^```/gm, '')), names: [] };
  }
  const source = 'program' in file ? (file as SourceFile) : parseSource(file);
  const texts = source.comments.flatMap(proseIn);
  const names: string[] = [];
  walk(source.program, (node, parents) => {
    const text = textOf(node);
    if (text?.includes(' ')) texts.push(...proseIn(text));
    const name = declaredName(node, parents.at(-1));
    if (name !== undefined && isVague(name)) names.push(name);
  });
  return { texts, names };
}

/** By module of the server, by package, or by the first two folders. */
export function countVagueWords(files: readonly TextFile[]): VagueWordCounts {
  const counts: VagueWordCounts = {};
  for (const file of files.filter(isCounted)) {
    const { texts, names } = vagueWordsOf(file);
    const folder = folderOf(file.path);
    const count = counts[folder] ?? { texts: 0, names: 0 };
    counts[folder] = { texts: count.texts + texts.length, names: count.names + names.length };
  }
  return Object.fromEntries(
    Object.entries(counts).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** The counts where they are lower; a folder without a limit has the limit 0. */
export function lowerLimits(limits: VagueWordCounts, counts: VagueWordCounts): VagueWordCounts {
  const lowered = Object.entries(counts).map(([folder, { texts, names }]) => {
    const limit = limits[folder] ?? noVagueWords;
    return [
      folder,
      { texts: Math.min(limit.texts, texts), names: Math.min(limit.names, names) },
    ] as const;
  });
  return Object.fromEntries(lowered.filter(([, { texts, names }]) => texts + names > 0));
}

/** Folders with more vague words than their limit. */
export function vagueWordFaults(limits: VagueWordCounts, counts: VagueWordCounts): Fault[] {
  return Object.entries(counts).flatMap(([path, { texts, names }]) => {
    const limit = limits[path] ?? noVagueWords;
    if (texts <= limit.texts && names <= limit.names) return [];
    const text = `${texts} vague words in texts and ${names} in names, at most ${limit.texts} and ${limit.names}; npm run vague-words -- ${path} --list`;
    return [{ path, line: 1, rule: 'vague words', text }];
  });
}

function folderOf(path: string): string {
  const depth = path.startsWith('packages/server/src/') ? 4 : path.startsWith('packages/') ? 3 : 2;
  return path.split('/').slice(0, -1).slice(0, depth).join('/') || '.';
}

function proseIn(text: string): string[] {
  return [...text.matchAll(vagueProse)].map(([word]) => word.replace(/^[.;:,]\s+/, ''));
}

function textOf(node: Node): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  if (node.type === 'TemplateElement') return node.value.raw;
  return node.type === 'JSXText' ? node.value : undefined;
}

function isVague(name: string): boolean {
  if (vagueNames.has(name.toLowerCase())) return true;
  const parts = name
    .replace(/^houseNumber/, '')
    .split(/(?=[A-Z])|_/)
    .map((part) => part.toLowerCase());
  return parts.some((part) => vagueParts.has(part));
}

/** The name that this node declares; loop variables and callbacks of one line declare names too. */
function declaredName(node: Node, parent: Node | undefined): string | undefined {
  if (node.type !== 'Identifier' || parent === undefined) return undefined;
  const declares =
    ('id' in parent && parent.id === node) ||
    ('params' in parent && Array.isArray(parent.params) && parent.params.includes(node as never)) ||
    (parent.type === 'TSPropertySignature' && parent.key === node);
  return declares ? node.name : undefined;
}
