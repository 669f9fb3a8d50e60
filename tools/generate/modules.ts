// The block of docs/explanation/architecture.md: the modules of the server and their allowed imports.
import { moduleTable } from '../architecture-rules/import-rules.ts';
import { code } from './markdown.ts';

/** Most modules import it, so its arrows would hide the others. */
const widelyImported = 'audit';
const exampleData = 'demo';

export function moduleDiagram(): string {
  const modules = Object.entries(moduleTable).filter(([name]) => name !== exampleData);
  const arrows = modules.flatMap(([name, imports]) =>
    imports.filter((each) => each !== widelyImported).map((each) => `  ${name} --> ${each}`),
  );
  const importers = modules.filter(([, imports]) => imports.includes(widelyImported));
  const names = importers.map(([name]) => code(name)).join(', ');
  return [
    '```mermaid\nflowchart TD',
    ...arrows,
    `\`\`\`\n\nThese modules may also import ${code(widelyImported)}: ${names}.`,
  ].join('\n');
}
