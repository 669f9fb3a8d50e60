// Reads the repository for the architecture rules: source files with their syntax, and every other text.
import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { type Node, type Program, parseSync, visitorKeys } from 'oxc-parser';

export type Fault = { path: string; line: number; rule: string; text: string };

export type Import = {
  /** As written: `node:fs`, `@switchyard/money` or `./store.ts`. */
  from: string;
  /** Every name of it is a type, so that nothing of it is loaded. */
  typeOnly: boolean;
  line: number;
};

export type SourceFile = {
  /** From the top of the repository, with forward slashes. */
  path: string;
  text: string;
  program: Program;
  imports: Import[];
  /** The text of each comment. */
  comments: string[];
  lineAt(offset: number): number;
};

export type TextFile = { path: string; text: string };

const foreign = new Set(['node_modules', '.git', '.cache', '.switchyard', 'dist']);

/** Every text of the repository; generated and installed files are left out. */
export function readTexts(root: string): TextFile[] {
  return globSync('{**,.ci/**,.github/**,.*}', {
    cwd: root,
    exclude: (path) => foreign.has(basename(path)),
  })
    .map((path) => path.split(sep).join('/'))
    .filter((path) =>
      /\.(?:[cm]?[jt]sx?|json|md|sql|sh|ya?ml)$|Containerfile$|^\.ci\/|^\.npmrc$/.test(path),
    )
    .filter((path) => statSync(join(root, path)).isFile())
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

export function isSource({ path }: TextFile): boolean {
  return /^(?:packages\/[^/]+\/(?:src|test)|tools)\/.*\.tsx?$/.test(path);
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || /^packages\/[^/]+\/test\//.test(path);
}

export function parseSource({ path, text }: TextFile): SourceFile {
  const { program, module, comments, errors } = parseSync(path, text, {
    lang: path.endsWith('.tsx') ? 'tsx' : 'ts',
    sourceType: 'module',
  });
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const starts = lineStarts(text);
  const lineAt = (offset: number): number => starts.findLastIndex((start) => start <= offset) + 1;
  const imports: Import[] = module.staticImports.map(({ moduleRequest, entries, start, end }) => ({
    from: moduleRequest.value,
    typeOnly: /^import\s+type\b/.test(text.slice(start, end)) || allTypes(entries),
    line: lineAt(start),
  }));
  for (const { entries, start } of module.staticExports) {
    const from = entries[0]?.moduleRequest?.value;
    if (from === undefined) continue;
    imports.push({ from, typeOnly: allTypes(entries), line: lineAt(start) });
  }
  for (const { moduleRequest, start } of module.dynamicImports) {
    const from = text.slice(moduleRequest.start + 1, moduleRequest.end - 1);
    imports.push({ from, typeOnly: false, line: lineAt(start) });
  }
  return { path, text, program, imports, comments: comments.map(({ value }) => value), lineAt };
}

function allTypes(entries: { isType: boolean }[]): boolean {
  return entries.length > 0 && entries.every(({ isType }) => isType);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Calls `enter` with each node and its parents, nearest last. */
export function walk(program: Program, enter: (node: Node, parents: Node[]) => void): void {
  const parents: Node[] = [];
  function visit(node: Node): void {
    enter(node, parents);
    parents.push(node);
    for (const child of childrenOf(node)) visit(child);
    parents.pop();
  }
  visit(program);
}

export function childrenOf(node: Node): Node[] {
  const members = node as unknown as Record<string, unknown>;
  const children: Node[] = [];
  // Loops, because this runs for every node of a thousand files.
  for (const key of visitorKeys[node.type] ?? []) {
    const member = members[key];
    for (const child of Array.isArray(member) ? member : [member]) {
      if (typeof child === 'object' && child !== null) children.push(child as Node);
    }
  }
  return children;
}
