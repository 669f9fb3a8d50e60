// The blocks of docs/explanation/architecture.md: which package and module may import which, from the tables of the architecture test.
import { layerTable, moduleTable, packageTable } from '../../architecture-rules/import-rules.ts';
import { code, table } from '../markdown.ts';

type ImportTable = Readonly<Record<string, readonly string[]>>;

/** All modules that these modules import, directly and indirectly. */
function transitiveImports(imports: ImportTable, names: readonly string[]): Set<string> {
  const reached = new Set(names.flatMap((name) => imports[name] ?? []));
  // The loop also visits the names that it adds.
  for (const name of reached) for (const next of imports[name] ?? []) reached.add(next);
  return reached;
}

/** A diagram of the permitted imports, without the arrows that follow from other arrows, and without modules that have none. */
export function importDiagram(imports: ImportTable): string {
  const edges = Object.entries(imports).flatMap(([from, targets]) => {
    const implied = transitiveImports(imports, targets);
    return targets.filter((to) => !implied.has(to)).map((to) => `  ${from} --> ${to}`);
  });
  return ['```mermaid', 'flowchart TD', ...edges, '```'].join('\n');
}

const listOf = (names: readonly string[]) => names.map(code).join(', ');

/** Each module with all permitted imports, and the order of its folders. */
function importsTable(): string {
  const rows = Object.entries(moduleTable).map(([name, imports]) => [
    code(name),
    listOf(imports),
    (layerTable[name] ?? []).map(listOf).join(' → '),
  ]);
  const base = ['platform', 'http'].map((name) => [
    code(name),
    name === 'http' ? code('platform') : '',
    (layerTable[name] ?? []).map(listOf).join(' → '),
  ]);
  return table(['Module', 'May import', 'Order of its folders'], [...base, ...rows]);
}

export const architectureBlocks = (): Readonly<Record<string, string>> => ({
  modules: importDiagram(moduleTable),
  imports: importsTable(),
  packages: importDiagram(packageTable),
});
