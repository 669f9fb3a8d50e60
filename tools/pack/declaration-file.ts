// Reads a declaration file: what it declares, imports and exports, and which names each declaration uses.
import { readFileSync } from 'node:fs';
import { type Node, parseSync, type Statement, visitorKeys } from 'oxc-parser';

/** The name of a module's namespace, as in `import * as Type`. */
export const namespace = '*';

export type ImportedName = {
  readonly from: string;
  readonly name: string;
  readonly isType: boolean;
};

/** `import('typebox').TString` in the middle of a type. */
export type ImportType = {
  readonly from: string;
  readonly name: string;
  /** Where its specifier is in the text, with the quotation marks. */
  readonly start: number;
  readonly end: number;
};

export type Declaration = {
  readonly start: number;
  readonly end: number;
  /** The end of the declaration before it: the comment between belongs to this one. */
  readonly textStart: number;
  readonly names: readonly string[];
  /** Names that it uses, each with the members used of it; `namespace` for the whole. */
  readonly uses: ReadonlyMap<string, ReadonlySet<string>>;
  readonly importTypes: readonly ImportType[];
};

export type DeclarationFile = {
  readonly path: string;
  readonly text: string;
  readonly declarations: readonly Declaration[];
  readonly imports: ReadonlyMap<string, ImportedName>;
  /** By exported name, the local one. */
  readonly exports: ReadonlyMap<string, string>;
  readonly reexports: ReadonlyMap<string, ImportedName>;
  /** Specifiers of `export * from`. */
  readonly wildcardReexports: readonly string[];
};

type Uses = { uses: Map<string, Set<string>>; importTypes: ImportType[] };

function addUse({ uses }: Uses, name: string, member: string): void {
  uses.set(name, (uses.get(name) ?? new Set()).add(member));
}

function firstName(node: Node | null): string {
  if (node?.type === 'TSQualifiedName') return firstName(node.left);
  return node?.type === 'Identifier' ? node.name : namespace;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function collectUses(node: Node, collected: Uses): void {
  if (node.type === 'Identifier') addUse(collected, node.name, namespace);
  if (node.type === 'TSQualifiedName' && node.left.type === 'Identifier') {
    addUse(collected, node.left.name, node.right.name);
    return;
  }
  if (node.type === 'TSImportType') {
    const { value: from, start, end } = node.source;
    collected.importTypes.push({ from, name: firstName(node.qualifier), start, end });
  }
  const isNamed = 'computed' in node && !node.computed;
  for (const key of visitorKeys[node.type] ?? []) {
    if ((isNamed && key === 'key') || key === 'qualifier') continue;
    if (node.type === 'TSQualifiedName' && key === 'right') continue;
    const value = (node as unknown as Record<string, unknown>)[key];
    for (const child of [value].flat()) if (isNode(child)) collectUses(child, collected);
  }
}

function findDeclaredNames(statement: Node, path: string): string[] {
  switch (statement.type) {
    case 'VariableDeclaration':
      return statement.declarations.map(({ id }) => firstName(id));
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
    case 'ClassDeclaration':
      return [firstName(statement.id)];
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
    case 'TSEnumDeclaration':
      return [statement.id.name];
    default:
      throw new Error(`${path}: ${statement.type} is not supported in declarations`);
  }
}

function findDeclaration(statement: Statement): Node | undefined {
  if (statement.type === 'ImportDeclaration' || statement.type === 'ExportAllDeclaration') return;
  if (statement.type === 'ExportDefaultDeclaration') return;
  if (statement.type !== 'ExportNamedDeclaration') return statement;
  return statement.declaration ?? undefined;
}

function collectDeclarations(body: readonly Statement[], path: string): Declaration[] {
  return body.flatMap((statement, index) => {
    const declared = findDeclaration(statement);
    if (declared === undefined) return [];
    const collected: Uses = { uses: new Map(), importTypes: [] };
    collectUses(declared, collected);
    const { start, end } = statement;
    const textStart = body[index - 1]?.end ?? 0;
    return [{ start, end, textStart, names: findDeclaredNames(declared, path), ...collected }];
  });
}

export function readDeclarationFile(path: string): DeclarationFile {
  const text = readFileSync(path, 'utf8');
  const { program, module, errors } = parseSync(path, text, { lang: 'dts', sourceType: 'module' });
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const imports = new Map<string, ImportedName>();
  for (const { moduleRequest, entries } of module.staticImports) {
    for (const { importName, localName, isType } of entries) {
      const name =
        importName.kind === 'NamespaceObject' ? namespace : (importName.name ?? 'default');
      imports.set(localName.value, { from: moduleRequest.value, name, isType });
    }
  }
  const exports = new Map<string, string>();
  const reexports = new Map<string, ImportedName>();
  const wildcardReexports: string[] = [];
  for (const {
    moduleRequest,
    importName,
    exportName,
    localName,
    isType,
  } of module.staticExports.flatMap(({ entries }) => entries)) {
    const name = exportName.name ?? 'default';
    const local = localName.name ?? 'default';
    const imported = imports.get(local);
    if (moduleRequest !== null && importName.kind === 'AllButDefault') {
      wildcardReexports.push(moduleRequest.value);
    } else if (moduleRequest !== null) {
      const source = importName.kind === 'All' ? namespace : (importName.name ?? 'default');
      reexports.set(name, { from: moduleRequest.value, name: source, isType });
    } else if (imported === undefined) {
      exports.set(name, local);
    } else {
      reexports.set(name, { ...imported, isType: isType || imported.isType });
    }
  }
  const declarations = collectDeclarations(program.body, path);
  return { path, text, declarations, imports, exports, reexports, wildcardReexports };
}
