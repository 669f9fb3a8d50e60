// Forbids two idioms that make a literal hard to read.
import type { Node } from 'oxc-parser';
import { type Fault, type SourceFile, walk } from './source-files.ts';

export function idiomFaults(file: SourceFile): Fault[] {
  const faults: Fault[] = [];
  walk(file.program, (node, parents) => {
    if (node.type !== 'SpreadElement' && node.type !== 'JSXSpreadAttribute') return;
    const text = faultOf(withoutParentheses(node.argument), parents.at(-1));
    if (text === undefined) return;
    faults.push({ path: file.path, line: file.lineAt(node.start), rule: 'idiom', text });
  });
  return faults;
}

function faultOf(spread: Node, parent: Node | undefined): string | undefined {
  if (spread.type === 'ObjectExpression') return 'a literal is spread: write one item per line';
  if (spread.type === 'ArrayExpression' && parent?.type !== 'ObjectExpression') {
    return 'a literal is spread: write one item per line';
  }
  if (spread.type === 'ConditionalExpression' && leavesOutUndefined(spread)) {
    return 'a member is left out by hand: use defined({ … })';
  }
  return undefined;
}

/** `x === undefined ? {} : { x }`, or the same the other way round. */
function leavesOutUndefined({ test, consequent, alternate }: ConditionalExpression): boolean {
  if (test.type !== 'BinaryExpression' || !/^[!=]==$/.test(test.operator)) return false;
  const { left, right } = test;
  if (![left, right].some((side) => side.type === 'Identifier' && side.name === 'undefined')) {
    return false;
  }
  const [empty, full] = test.operator === '===' ? [consequent, alternate] : [alternate, consequent];
  return isEmptyObject(empty) && withoutParentheses(full).type === 'ObjectExpression';
}

type ConditionalExpression = Extract<Node, { type: 'ConditionalExpression' }>;

function isEmptyObject(node: Node): boolean {
  const expression = withoutParentheses(node);
  return expression.type === 'ObjectExpression' && expression.properties.length === 0;
}

function withoutParentheses(node: Node): Node {
  return node.type === 'ParenthesizedExpression' ? withoutParentheses(node.expression) : node;
}
