// How long a file, a function and a handler may be. Tables may be long: they are read by looking up.
import type { Node } from 'oxc-parser';
import { childrenOf, type Fault, isTest, type SourceFile, walk } from './source.ts';

const fileLines = 400;
const functionLines = 70;
const handlerLines = 40;

/** Files that are one table, however long. */
export const tableFiles = ['packages/contract/src/error-table.ts'];

const suites = new Set(['describe', 'suite']);

export function sizeFaults(file: SourceFile): Fault[] {
  const faults: Fault[] = [];
  const lines = file.text.split('\n').length - 1;
  if (lines > fileLines && !tableFiles.includes(file.path)) {
    faults.push(fault(file, 1, `${lines} lines; ${fileLines} at most`));
  }
  walk(file.program, (node, parents) => {
    if (!isFunction(node) || (isTest(file.path) && isSuite(node, parents.at(-1)))) return;
    const limit = isHandler(node, parents.at(-1)) ? handlerLines : functionLines;
    const own = ownLines(file, node);
    if (own <= limit) return;
    const line = file.lineAt(node.start);
    faults.push(fault(file, line, `a function of ${own} lines of its own; ${limit} at most`));
  });
  return faults;
}

function fault({ path }: SourceFile, line: number, text: string): Fault {
  return { path, line, rule: 'size', text };
}

function isFunction(node: Node): boolean {
  return /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

/** The body of a `describe` is a list of tests, not a function to be understood in one go. */
function isSuite(node: Node, parent: Node | undefined): boolean {
  if (parent?.type !== 'CallExpression' || parent.callee.type !== 'Identifier') return false;
  return suites.has(parent.callee.name) && parent.arguments.some((argument) => argument === node);
}

function isHandler(node: Node, parent: Node | undefined): boolean {
  if (parent?.type !== 'Property' || parent.value !== node) return false;
  return parent.key.type === 'Identifier' && parent.key.name === 'handler';
}

/**
 * Lines without those of the named functions inside: `createPayments(deps)` is as long as its verbs
 * are many, which is no harder to read, while callbacks belong to the function that passes them.
 */
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
