// How long a file, a function and a handler may be. Tables may be long: they are read by looking up.
import type { Node } from 'oxc-parser';
import { childrenOf, type Fault, isTest, type SourceFile, walk } from './source.ts';

const fileLines = 400;
const testFileLines = 600;
const functionLines = 70;
const handlerLines = 40;

/** Files that are one table, however long. */
export const tableFiles: string[] = [];

export function sizeFaults(file: SourceFile): Fault[] {
  const lines = file.text.split('\n').length - 1;
  const most = isTest(file.path) ? testFileLines : fileLines;
  const tooLong = lines > most && !tableFiles.includes(file.path);
  const faults = tooLong ? [fault(file, 1, `${lines} lines; ${most} at most`)] : [];
  // A test file is a list of cases: only its whole length says something.
  if (isTest(file.path)) return faults;
  walk(file.program, (node, parents) => {
    if (!isFunction(node)) return;
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
