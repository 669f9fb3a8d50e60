// Reports the longest files and functions. Nothing fails: a length is a hint, not a limit.
import type { Node } from 'oxc-parser';
import { childrenOf, isTest, type SourceFile, walk } from './source-files.ts';

export type SourceSize = { path: string; line: number; lines: number };

const reportedMax = 10;

/** The longest files and functions, tests left out, longest first. */
export function longestSources(files: readonly SourceFile[]): {
  files: SourceSize[];
  functions: SourceSize[];
} {
  const sources = files.filter(({ path }) => !isTest(path));
  const fileSizes = sources.map(({ path, text }) => ({
    path,
    line: 1,
    lines: text.split('\n').length - 1,
  }));
  return { files: top(fileSizes), functions: top(sources.flatMap(functionSizes)) };
}

function top(sizes: SourceSize[]): SourceSize[] {
  return sizes.toSorted((a, b) => b.lines - a.lines).slice(0, reportedMax);
}

function functionSizes(file: SourceFile): SourceSize[] {
  const sizes: SourceSize[] = [];
  walk(file.program, (node) => {
    if (!isFunction(node)) return;
    sizes.push({ path: file.path, line: file.lineAt(node.start), lines: ownLines(file, node) });
  });
  return sizes;
}

function isFunction(node: Node): boolean {
  return /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

/** Lines without those of the named functions inside, which are read one by one. */
function ownLines(file: SourceFile, outer: Node): number {
  let lines = linesOf(file, outer);
  function subtract(node: Node): void {
    for (const child of childrenOf(node)) {
      if (isNamed(child, node)) lines -= linesOf(file, child) - 1;
      else subtract(child);
    }
  }
  subtract(outer);
  return lines;
}

function isNamed(node: Node, parent: Node): boolean {
  if (!isFunction(node)) return false;
  if (node.type === 'FunctionDeclaration' || parent.type === 'VariableDeclarator') return true;
  return parent.type === 'Property' && parent.value === node;
}

function linesOf({ lineAt }: SourceFile, { start, end }: Node): number {
  return lineAt(end) - lineAt(start) + 1;
}
