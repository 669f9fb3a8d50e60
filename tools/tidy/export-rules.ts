// What a package publishes, it explains: every name that leaves by its index.ts has a doc block.
import { posix } from 'node:path';
import type { Node } from 'oxc-parser';
import type { Fault, SourceFile } from './source.ts';

/** Packages that others install; the server documents itself in docs. */
export const publishedPackages = [
  'contract',
  'money',
  'iso8583',
  'emv',
  'nexo',
  'simulators',
  'sdk-pos',
  'sdk-provider',
  'sdk-device',
];

type Exported = { file: SourceFile; name: string; line: number; documented: boolean };

export function exportFaults(files: SourceFile[]): Fault[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return publishedPackages.flatMap((name) => {
    const index = byPath.get(`packages/${name}/src/index.ts`);
    if (index === undefined) return [noDoor(name)];
    const exported = exportedBy(index, byPath);
    const documented = new Set(
      exported.filter((each) => each.documented).map((each) => `${each.file.path} ${each.name}`),
    );
    // A schema and the type of the same name are one thing, and are explained once.
    return exported
      .filter((each) => !documented.has(`${each.file.path} ${each.name}`))
      .map(({ file, name: missing, line }) => ({
        path: file.path,
        line,
        rule: 'exports',
        text: `${missing} is published without a doc block`,
      }));
  });
}

function noDoor(name: string): Fault {
  const text = 'has no door';
  return { path: `packages/${name}/src/index.ts`, line: 1, rule: 'exports', text };
}

/** What a file exports: its own declarations, and those of the files that it passes on. */
function exportedBy(file: SourceFile, byPath: Map<string, SourceFile>): Exported[] {
  return file.program.body.flatMap((statement) => {
    if (statement.type === 'ExportAllDeclaration') {
      const target = byPath.get(pathOf(file, statement.source.value));
      return target === undefined ? [] : exportedBy(target, byPath);
    }
    if (statement.type !== 'ExportNamedDeclaration') return [];
    if (statement.source !== null) {
      const target = byPath.get(pathOf(file, statement.source.value));
      const names = statement.specifiers.map(({ local }) => nameOf(local));
      if (target === undefined) return [];
      return exportedBy(target, byPath).filter(({ name }) => names.includes(name));
    }
    const documented = hasDocBlock(file, statement.start);
    const line = file.lineAt(statement.start);
    return namesOf(statement.declaration).map((name) => ({ file, name, line, documented }));
  });
}

function pathOf(file: SourceFile, from: string): string {
  return posix.join(posix.dirname(file.path), from);
}

function namesOf(declaration: Node | null): string[] {
  if (declaration === null) return [];
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.map(({ id }) => nameOf(id));
  }
  return 'id' in declaration && declaration.id !== null ? [nameOf(declaration.id as Node)] : [];
}

function nameOf(node: Node): string {
  return 'name' in node && typeof node.name === 'string' ? node.name : '';
}

function hasDocBlock({ text }: SourceFile, start: number): boolean {
  const before = text.slice(0, start).trimEnd();
  return (
    before.endsWith('*/') && before.lastIndexOf('/**') > before.lastIndexOf('*/', before.length - 3)
  );
}
