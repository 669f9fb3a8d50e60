// Fills the last column of docs/spec-coverage.md: the tests that carry the identifier of a line in a
// comment above them, `// Spec: PAY-12 PAY-13`.
import { globSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

type TextFile = { path: string; text: string };

/** Matches the `// Spec:` comment and the first string after it, which is the title of the test. */
const tagPattern =
  /^[ \t]*\/\/ Spec: ([A-Z]+-\d+(?: [A-Z]+-\d+)*)\n[^'"`]*(['"`])((?:\\.|(?!\2)[^\\])*)\2/gm;
const identifierPattern = /^[A-Z]+-\d+$/;
const unproved = 'not yet';
/** A line that only defines a word needs no test. */
const definition = 'definition';
const serverSource = 'packages/server/src/';

export function readTestFiles(root: string): TextFile[] {
  return globSync('{packages/*/{src,test},tools}/**/*.test.ts', { cwd: root })
    .map((path) => path.split(sep).join('/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** The titles of the tests of each line, by file. */
type Proofs = Map<string, Map<string, string[]>>;

function readProofs(tests: readonly TextFile[]): Proofs {
  const proofs: Proofs = new Map();
  for (const { path, text } of tests) {
    for (const [, identifiers = '', , title = ''] of text.matchAll(tagPattern)) {
      for (const identifier of identifiers.split(' ')) {
        const byFile = proofs.get(identifier) ?? new Map<string, string[]>();
        proofs.set(identifier, byFile);
        byFile.set(path, [...(byFile.get(path) ?? []), plainTitle(title)]);
      }
    }
  }
  return proofs;
}

/** Without escapes; a value that is known only when the test runs is shown as "…". */
function plainTitle(title: string): string {
  return title
    .replaceAll(/\$\{[^}]*\}/g, '…')
    .replaceAll(/\\(.)/g, '$1')
    .replaceAll('|', '\\|');
}

function proofCell(byFile: ReadonlyMap<string, readonly string[]>): string {
  return [...byFile]
    .map(([path, titles]) => {
      const name = path.startsWith(serverSource) ? posix.relative(serverSource, path) : path;
      return `\`${name}\` › ${titles.map((title) => `“${title}”`).join(', ')}`;
    })
    .join('; ');
}

/**
 * @param document with the columns identifier, line, where, and proof, of which the last one is replaced
 * @throws if two lines have the same identifier, or a test names one that no line has
 */
export function fillProofs(document: string, tests: readonly TextFile[]): string {
  const proofs = readProofs(tests);
  const identifiers = new Set<string>();
  const filled = document.split('\n').map((row) => {
    const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const [, identifier = '', ...others] = cells.slice(0, -1);
    if (!identifierPattern.test(identifier)) return row;
    if (identifiers.has(identifier))
      throw new Error(`docs/spec-coverage.md has two lines with the identifier ${identifier}`);
    identifiers.add(identifier);
    const present = others.pop();
    const byFile = proofs.get(identifier);
    const open = present === definition ? definition : unproved;
    const proof = byFile === undefined ? open : proofCell(byFile);
    return `| ${[identifier, ...others, proof].join(' | ')} |`;
  });
  for (const [identifier, byFile] of proofs) {
    if (!identifiers.has(identifier))
      throw new Error(
        `${[...byFile.keys()].join(', ')}: docs/spec-coverage.md has no line ${identifier}. Correct the comment or add the line.`,
      );
  }
  return filled.join('\n');
}

/** How many lines have a test, and how many have none yet. */
export function countLines(document: string): { proved: number; unproved: number } {
  const rows = document.split('\n').filter((row) => /^\| [A-Z]+-\d+ \|/.test(row));
  const open = rows.filter((row) => row.endsWith(`| ${unproved} |`)).length;
  return { proved: rows.length - open, unproved: open };
}
