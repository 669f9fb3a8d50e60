// Checks the documents: links, named files and tests, error codes, decisions, and migrations.
import { posix } from 'node:path';
import type { Fault, TextFile } from './source-files.ts';

const serverSource = 'packages/server/src/';

function fault(path: string, line: number, rule: string, text: string): Fault {
  return { path, line, rule, text };
}

function isMarkdown({ path }: TextFile): boolean {
  return path.endsWith('.md');
}

/** Relative links of every document: the file is there, and so is the heading. */
export function linkFaults(files: TextFile[], exists: (path: string) => boolean): Fault[] {
  const headings = new Map(files.filter(isMarkdown).map(({ path, text }) => [path, slugs(text)]));
  return files.filter(isMarkdown).flatMap(({ path, text }) =>
    withoutCode(text)
      .split('\n')
      .flatMap((line, index) =>
        [...line.matchAll(/\]\(([^)\s]+)\)/g)]
          .map(([, link = '']) => brokenLink(path, link, headings, exists))
          .filter((problem) => problem !== undefined)
          .map((problem) => fault(path, index + 1, 'links', problem)),
      ),
  );
}

function brokenLink(
  path: string,
  link: string,
  headings: Map<string, Set<string>>,
  exists: (path: string) => boolean,
): string | undefined {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : posix.join(posix.dirname(path), file);
  if (!exists(target)) return `${link} leads nowhere`;
  const titles = headings.get(target);
  if (anchor === undefined || titles === undefined || titles.has(anchor)) return undefined;
  return `${link} names no heading of ${target}`;
}

/** The anchors that a forge makes of headings: lower case, words joined by hyphens. */
function slugs(text: string): Set<string> {
  const titles = [...withoutCode(text).matchAll(/^#+ +(.+)$/gm)].map(([, title = '']) => title);
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ''));
}

/** Every file that the tour names, from the top of the repository or inside the server. */
export function namedFiles(text: string): { name: string; line: number }[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(/`([\w./-]+\/[\w.-]*|[\w-]+\.(?:ts|cjs|sql|json))`/g)].map(
        ([, name = '']) => ({ name, line: index + 1 }),
      ),
    );
}

export function tourFaults(tour: TextFile, exists: (path: string) => boolean): Fault[] {
  return namedFiles(tour.text)
    .filter(({ name }) => !exists(name) && !exists(`${serverSource}${name}`))
    .map(({ name, line }) => fault(tour.path, line, 'tour', `${name} does not exist`));
}

/** The files that the coverage names; `/payment/v1` is an address, not a file. */
export function missingPathFaults(coverage: TextFile, exists: (path: string) => boolean): Fault[] {
  return namedFiles(coverage.text)
    .filter(({ name }) => /^\w.*\/(?:[\w.-]+\.\w+)?$/.test(name) && !name.endsWith('.test.ts'))
    .filter(({ name }) => !exists(name) && !exists(`${serverSource}${name}`))
    .map(({ name, line }) => fault(coverage.path, line, 'coverage', `${name} does not exist`));
}

/** Words of RFC 6749, which token endpoints answer with in place of a code of ours. */
const tokenWords = ['invalid_request', 'invalid_client', 'invalid_grant', 'invalid_scope'];

/** Where a document names a status and the code that comes with it, they belong together. */
export function statusFaults(files: TextFile[], statusOf: (code: string) => number | undefined) {
  return files.filter(isMarkdown).flatMap(({ path, text }) =>
    [...text.matchAll(/\b([1-5]\d\d)\s+`([a-z]+(?:_[a-z0-9]+)+)`/g)].flatMap((match) => {
      const [, status = '', code = ''] = match;
      const right = statusOf(code) ?? (tokenWords.includes(code) ? Number(status) : 'no code');
      if (right === Number(status)) return [];
      const line = text.slice(0, match.index).split('\n').length;
      return [fault(path, line, 'statuses', `${code} is ${right}, not ${status}`)];
    }),
  );
}

/** The codes that no source names, as a text of its own or as a member of a table. */
export function unansweredCodes(codes: readonly string[], sources: TextFile[]): string[] {
  const codesInSources = new Set(
    sources.flatMap(({ text }) =>
      [...text.matchAll(/'([a-z0-9_]+)'|\b([a-z0-9_]+):/g)].map(
        ([, quoted, member]) => quoted ?? member,
      ),
    ),
  );
  return codes.filter((code) => !codesInSources.has(code));
}

const cardRules = 22;

/** The rules for card data: each number once, in order, and each with a test that exists. */
export function cardRuleFaults(rules: TextFile, tests: TextFile[]): Fault[] {
  const rows = coverageRows(rules.text);
  const lines = rules.text.split('\n');
  const numbers = rows.map(({ line }) => Number(/^\| (\d+) \|/.exec(lines[line - 1] ?? '')?.[1]));
  const inOrder = numbers.every((number, index) => number === index + 1);
  const faults =
    inOrder && numbers.length === cardRules
      ? []
      : [fault(rules.path, 1, 'card rules', `has not the rules 1 to ${cardRules}, each once`)];
  const unproved = rows.flatMap(({ proof, line }) => {
    const problem = proof.includes('.test.ts')
      ? proofProblem(proof, tests)
      : `“${proof}” is no test`;
    return problem === undefined ? [] : [fault(rules.path, line, 'card rules', problem)];
  });
  return [...faults, ...unproved];
}

/** The last cell of each row of a table whose head ends in "Proof". */
export function coverageRows(text: string): { proof: string; line: number }[] {
  let inTable = false;
  return text.split('\n').flatMap((row, index) => {
    if (!row.startsWith('|')) {
      inTable = false;
      return [];
    }
    const cells = row.replace(/\\\|/g, '¦').split('|').slice(1, -1);
    const proof = cells.at(-1)?.trim() ?? '';
    if (proof === 'Proof') inTable = true;
    if (!inTable || proof === 'Proof' || /^:?-+:?$/.test(proof)) return [];
    return [{ proof, line: index + 1 }];
  });
}

function proofProblem(proof: string, tests: TextFile[]): string | undefined {
  const codesInSources = [...proof.matchAll(/`([^`]+\.test\.ts)`(?: › “([^”]+)”)?/g)];
  if (codesInSources.length === 0) return `“${proof}” is no test`;
  for (const [, path = '', title] of codesInSources) {
    const test = tests.find((each) => each.path.endsWith(`/${path}`) || each.path === path);
    if (test === undefined) return `${path} does not exist`;
    if (title !== undefined && !test.text.includes(title)) return `${path} has no test “${title}”`;
  }
  return undefined;
}

const decisionParts = ['Status: ', '## Context', '## Decision', '## Consequences'];

/** Each decision record has its four parts, is in the list, and exists if a source names it. */
export function decisionFaults(files: TextFile[]): Fault[] {
  const decisions = files.filter(({ path }) => /^docs\/adr\/\d{4}-[a-z0-9-]+\.md$/.test(path));
  const list = files.find(({ path }) => path === 'docs/adr/index.md')?.text ?? '';
  const numbers = new Set(decisions.map(({ path }) => posix.basename(path).slice(0, 4)));
  const incomplete = decisions.flatMap(({ path, text }) => {
    const missing = decisionParts.filter((part) => !text.includes(`\n${part}`));
    const problems = missing.map((part) => `has no “${part.trim()}”`);
    if (!list.includes(`(${posix.basename(path)})`)) problems.push('is not in the list');
    return problems.map((problem) => fault(path, 1, 'decisions', problem));
  });
  const unknown = files
    .filter(({ path }) => /\.(?:ts|sql)$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\bADR (\d{4})\b/g)]
        .filter(([, number = '']) => !numbers.has(number))
        .map(([name]) => fault(path, 1, 'decisions', `${name} does not exist`)),
    );
  return [...incomplete, ...unknown];
}

/** 0001, 0002, … without a gap, each opening with a comment that says what it is for. */
export function migrationFaults(migrations: TextFile[]): Fault[] {
  const sorted = [...migrations].sort((one, other) => (one.path < other.path ? -1 : 1));
  return sorted.flatMap(({ path, text }, index) => {
    const name = posix.basename(path);
    const expectedNumber = String(index + 1).padStart(4, '0');
    const faults: Fault[] = [];
    if (!new RegExp(`^${expectedNumber}-[a-z0-9-]+\\.sql$`).test(name)) {
      faults.push(fault(path, 1, 'migrations', `expected ${expectedNumber}-….sql here`));
    }
    if (!/^-- \S.{15,}/.test(text)) {
      faults.push(fault(path, 1, 'migrations', 'opens without a note'));
    }
    return faults;
  });
}
