// Every name that a published package exports by its index.ts has a doc comment.
import { posix } from 'node:path';
import type { Node } from 'oxc-parser';
import type { Fault, SourceFile } from './source-files.ts';

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

/** Kits show how each of their names is used. */
const kits = ['nexo', 'sdk-pos', 'sdk-provider', 'sdk-device'];

export type Exported = {
  file: SourceFile;
  name: string;
  line: number;
  declaration: Node | null;
  block: string | undefined;
};

type FilesByPath = Pick<Map<string, SourceFile>, 'get'>;

const faultOf = { block: 'without a doc block', example: 'without an example' } as const;

export function exportFaults(files: SourceFile[]): Fault[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return publishedPackages.flatMap((name) => {
    const index = byPath.get(`packages/${name}/src/index.ts`);
    if (index === undefined) return [missingIndexFault(name)];
    const exported = exportedBy(index, byPath);
    const undocumented = missing(exported, 'block', (block) => block !== undefined);
    if (!kits.includes(name)) return undocumented;
    return [
      ...undocumented,
      ...missing(exported, 'example', (block) => block === undefined || block.includes('@example')),
    ];
  });
}

/** A schema and the type of the same name are one thing, and are explained once. */
function missing(
  exported: readonly Exported[],
  kind: keyof typeof faultOf,
  isGood: (block: string | undefined) => boolean,
): Fault[] {
  const placeOf = ({ file, name }: Exported) => `${file.path} ${name}`;
  const good = new Set(exported.filter(({ block }) => isGood(block)).map(placeOf));
  return exported
    .filter((each) => !good.has(placeOf(each)))
    .map(({ file, name, line }) => ({
      path: file.path,
      line,
      rule: 'exports',
      text: `${name} is published ${faultOf[kind]}`,
    }));
}

function missingIndexFault(name: string): Fault {
  const text = 'has no index.ts';
  return { path: `packages/${name}/src/index.ts`, line: 1, rule: 'exports', text };
}

/** The exports of a file: its own declarations, and those that it re-exports. */
export function exportedBy(file: SourceFile, byPath: FilesByPath): Exported[] {
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
    const block = docBlock(file, statement.start);
    const line = file.lineAt(statement.start);
    const { declaration } = statement;
    return namesOf(declaration).map((name) => ({ file, name, line, declaration, block }));
  });
}

function pathOf(file: SourceFile, from: string): string {
  const [, packageName] = /^@switchyard\/(.+)$/.exec(from) ?? [];
  return packageName === undefined
    ? posix.join(posix.dirname(file.path), from)
    : `packages/${packageName}/src/index.ts`;
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

/** The doc block that ends where a statement begins. */
function docBlock({ text }: SourceFile, start: number): string | undefined {
  const before = text.slice(0, start).trimEnd();
  const from = before.lastIndexOf('/**');
  const isBlock = before.endsWith('*/') && from > before.lastIndexOf('*/', before.length - 3);
  return isBlock ? before.slice(from) : undefined;
}
