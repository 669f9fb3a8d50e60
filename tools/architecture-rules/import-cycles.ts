// Finds files that import each other in a cycle, type-only imports included.
import { posix } from 'node:path';
import { isTest, type SourceFile } from './source-files.ts';

/** The groups of files in which each file reaches every other one, largest first. */
export function importCycles(files: readonly SourceFile[]): string[][] {
  const byPath = new Map(
    files.filter(({ path }) => !isTest(path)).map((file) => [file.path, file]),
  );
  const targets = ({ path, imports }: SourceFile): SourceFile[] =>
    imports.flatMap(({ from }) => {
      const target = from.startsWith('.') ? posix.join(posix.dirname(path), from) : undefined;
      return target === undefined ? [] : (byPath.get(target) ?? []);
    });

  // Tarjan's algorithm for strongly connected components.
  const cycles: string[][] = [];
  const index = new Map<SourceFile, number>();
  const stack: SourceFile[] = [];
  const onStack = new Set<SourceFile>();

  function visit(file: SourceFile): number {
    const ownIndex = index.size;
    index.set(file, ownIndex);
    stack.push(file);
    onStack.add(file);
    let lowest = ownIndex;
    for (const target of targets(file)) {
      if (!index.has(target)) lowest = Math.min(lowest, visit(target));
      else if (onStack.has(target)) lowest = Math.min(lowest, index.get(target) ?? ownIndex);
      if (target === file) cycles.push([file.path]);
    }
    if (lowest === ownIndex) {
      const group = stack.splice(stack.indexOf(file));
      for (const member of group) onStack.delete(member);
      if (group.length > 1) cycles.push(group.map(({ path }) => path).toSorted());
    }
    return lowest;
  }

  for (const file of byPath.values()) if (!index.has(file)) visit(file);
  return cycles.toSorted((a, b) => b.length - a.length);
}
