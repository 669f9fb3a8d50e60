// What may not stand in the source: hidden clocks and settings, card numbers, vague names, leftovers.
import { passesLuhn } from '@switchyard/contract';
import type { Node } from 'oxc-parser';
import { type Fault, isTest, type SourceFile, type TextFile, walk } from './source-files.ts';

const vague = /^(?:utils?|helpers?|common|managers?|shared|misc)$/i;
const clockFiles = /\/(?:clock|ids)\.ts$/;
const settingsFiles = /\/platform\/settings\.ts$|\/main\.ts$/;
const errorClass = /(?:Error|Fault)$/;
/** In two parts, or this file would be the first to break its rule. */
const leftovers = ['TO' + 'DO', 'FIX' + 'ME', 'HA' + 'CK'];

export function wordFaults(file: SourceFile): Fault[] {
  return [
    ...nameFaults(file),
    ...purposeFaults(file),
    ...ambientFaults(file),
    ...classFaults(file),
    ...cardNumberFaults(file),
    ...leftoverFaults(file),
  ];
}

function fault({ path }: TextFile, line: number, rule: string, text: string): Fault {
  return { path, line, rule, text };
}

function nameFaults(file: SourceFile): Fault[] {
  const segments = file.path.replace(/(?:\.test)?\.tsx?$/, '').split('/');
  return segments.flatMap((segment) => {
    const words = segment.split('-');
    if (words.some((word) => vague.test(word))) {
      return [fault(file, 1, 'names', `“${segment}” says nothing: name what it does`)];
    }
    if (segment !== segment.toLowerCase() || segment.includes('_')) {
      return [fault(file, 1, 'names', `“${segment}” is not kebab-case`)];
    }
    return [];
  });
}

/** Each file of the server opens with a sentence that says what it is for. */
function purposeFaults(file: SourceFile): Fault[] {
  if (!file.path.startsWith('packages/server/src/') || isTest(file.path)) return [];
  const opening = /^(?:\/\/ [^\n]*\n)+|^\/\*\*?[\s\S]*?\*\//.exec(file.text)?.[0] ?? '';
  const sentence = opening.replace(/^\s*(?:\/\/|\/\*\*?|\*\/?)|\*\/$/gm, '').trim();
  if (/^[A-Z`][\s\S]{15,}[.:]$/.test(sentence)) return [];
  return [fault(file, 1, 'purpose', 'opens without a sentence that says what the file is for')];
}

/** Time, chance and the environment are handed in, so that a test can hand in its own. */
function ambientFaults(file: SourceFile): Fault[] {
  if (isTest(file.path) || file.path.startsWith('tools/')) return [];
  const faults: Fault[] = [];
  walk(file.program, (node, parents) => {
    const used = ambientUse(node);
    if (used === undefined || isSearchPath(parents.at(-1))) return;
    if (used === 'process.env' ? settingsFiles.test(file.path) : clockFiles.test(file.path)) return;
    const instead = used === 'process.env' ? 'the settings' : 'clock and ids';
    faults.push(fault(file, file.lineAt(node.start), 'ambient', `${used}: ask ${instead} instead`));
  });
  return faults;
}

function ambientUse(node: Node): string | undefined {
  if (node.type === 'NewExpression' && isNamed(node.callee, 'Date')) {
    return node.arguments.length === 0 ? 'new Date()' : undefined;
  }
  if (node.type !== 'MemberExpression' || node.computed) return undefined;
  const { object, property } = node;
  if (object.type !== 'Identifier' || property.type !== 'Identifier') return undefined;
  const used = `${object.name}.${property.name}`;
  return ['process.env', 'Date.now', 'Math.random'].includes(used) ? used : undefined;
}

/** PATH is the machine's, handed on to a child process; it is no setting of ours. */
function isSearchPath(parent: Node | undefined): boolean {
  if (parent?.type !== 'MemberExpression' || parent.property.type !== 'Literal') return false;
  return parent.property.value === 'PATH';
}

function isNamed(node: Node, name: string): boolean {
  return node.type === 'Identifier' && node.name === name;
}

function classFaults(file: SourceFile): Fault[] {
  const faults: Fault[] = [];
  walk(file.program, (node) => {
    if (node.type !== 'ClassDeclaration' && node.type !== 'ClassExpression') return;
    const parent = node.superClass;
    if (parent?.type === 'Identifier' && errorClass.test(parent.name)) return;
    faults.push(fault(file, file.lineAt(node.start), 'classes', 'classes are for errors only'));
  });
  return faults;
}

/** The schemes' published test numbers, first six and last four; documentation may show them. */
const testCards = ['411111…1111', '555555…4444', '601111…1117', '541333…0012'];

function cardNumberFaults(file: SourceFile): Fault[] {
  if (isTest(file.path)) return [];
  const documents = /^packages\/(?!server\/)/.test(file.path);
  return matches(file, /(?<![\w.])\d{13,19}(?![\w.])/g)
    .filter(({ match }) => passesLuhn(match) && !(documents && testCards.includes(masked(match))))
    .map(({ line }) => fault(file, line, 'card numbers', 'digits that read as a card number'));
}

function masked(digits: string): string {
  return `${digits.slice(0, 6)}…${digits.slice(-4)}`;
}

function leftoverFaults(file: SourceFile): Fault[] {
  const matchedLeftovers = matches(file, new RegExp(`\\b(?:${leftovers.join('|')})\\b`, 'g'));
  const idle = matches(file, /\b(?:it|test|describe|suite)\.(?:skip|only|todo)\(/g);
  return [
    ...matchedLeftovers.map(({ line, match }) =>
      fault(file, line, 'leftovers', `unfinished: ${match}`),
    ),
    ...idle.map(({ line, match }) => fault(file, line, 'leftovers', `${match}) does not run`)),
  ];
}

function matches({ text, lineAt }: SourceFile, pattern: RegExp): { line: number; match: string }[] {
  return [...text.matchAll(pattern)].map(({ index, 0: match }) => ({
    line: lineAt(index),
    match,
  }));
}

/** Public folders that any file may name. */
const publicFolders = ['/', '/tmp', '/home', '/root', '/opt', '/srv', '/usr/src', '/app'];

/** No text names the folder in which this copy happens to lie, or its neighbours. */
export function machinePathFaults(files: TextFile[], folders: string[]): Fault[] {
  const privateFolders = folders.filter((folder) => !publicFolders.includes(folder));
  return files.flatMap((file) =>
    file.text.split('\n').flatMap((line, index) => {
      const folder = privateFolders.find((each) => namesFolder(line, each));
      if (folder === undefined) return [];
      return [fault(file, index + 1, 'machine', 'names a folder of one machine')];
    }),
  );
}

function namesFolder(line: string, folder: string): boolean {
  for (let at = line.indexOf(folder); at !== -1; at = line.indexOf(folder, at + 1)) {
    const before = line[at - 1] ?? ' ';
    const after = line[at + folder.length] ?? ' ';
    if (!/[\w.}~-]/.test(before) && !/[\w-]/.test(after)) return true;
  }
  return false;
}
