// Counts words that hide the actor or the meaning: pronouns as subjects, personified code, bare participles as names.
import type { Node } from 'oxc-parser';
import { type SourceFile, type TextFile, walk } from './source.ts';

export type VagueWords = { prose: string[]; names: string[] };

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
  'told asked said shown kept standing rivals stranger strangers rival room rooms house door doors roof whoever nobody anew lane lanes'.split(
    ' ',
  ),
);

/** The vague words of one source file, one item for each use. */
export function vagueWordsOfSource(file: SourceFile): VagueWords {
  const prose = file.comments.flatMap(proseIn);
  const names: string[] = [];
  walk(file.program, (node, parents) => {
    const text = textOf(node);
    if (text?.includes(' ')) prose.push(...proseIn(text));
    const name = declaredName(node, parents.at(-1));
    if (name !== undefined && isVague(name)) names.push(name);
  });
  return { prose, names };
}

/** The vague words of a document or of a file of translations in English; code blocks do not count. */
export function vagueWordsOfText({ text }: TextFile): VagueWords {
  return { prose: proseIn(text.replace(/^```[\s\S]*?^```/gm, '')), names: [] };
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
