// Selects the declarations that the public interface of a package reaches, in all packages, and writes
// them as files that import each other by relative paths.
import { dirname, posix } from 'node:path';
import {
  type Declaration,
  type DeclarationFile,
  type ImportedName,
  namespace,
  readDeclarationFile,
} from './declaration-file.ts';
import type { PackedFile } from './tarball.ts';

export type DeclarationSources = {
  /** @returns the declaration file; undefined for a module of Node.js */
  readonly resolve: (specifier: string, from: string) => string | undefined;
  /** @returns where a declaration file is in the package, without its extension */
  readonly packagePath: (file: string) => string;
  /** Whether all declarations of a file are taken when one is. */
  readonly includesWholeFile: (file: string) => boolean;
};

/** A declared name and its file; or a whole module, with `namespace` as its name. */
type Target = { readonly file: string; readonly name: string; readonly isType: boolean };

type Selected = { readonly declarations: Set<Declaration>; readonly exports: Set<string> };

type Selection = {
  readonly files: ReadonlyMap<string, Selected>;
  readonly read: (path: string) => DeclarationFile;
  readonly resolveImport: (imported: ImportedName, path: string) => Target | undefined;
  readonly resolveExport: (path: string, name: string) => Target;
  readonly selectAll: (path: string) => void;
};

function createSelection(sources: DeclarationSources): Selection {
  const files = new Map<string, Selected>();
  const filesByPath = new Map<string, DeclarationFile>();

  function read(path: string): DeclarationFile {
    const file = filesByPath.get(path) ?? readDeclarationFile(path);
    filesByPath.set(path, file);
    return file;
  }

  /** @returns undefined for a module of Node.js */
  function resolveImport({ from, name, isType }: ImportedName, path: string): Target | undefined {
    const file = sources.resolve(from, path);
    if (file === undefined) return undefined;
    if (name === namespace) return { file, name, isType };
    const target = findExport(file, name);
    if (target === undefined) throw new Error(`${path}: ${from} does not export ${name}`);
    return { ...target, isType: isType || target.isType };
  }

  function findExport(path: string, name: string, seen = new Set<string>()): Target | undefined {
    if (seen.has(path)) return undefined;
    seen.add(path);
    const { exports, reexports, wildcardReexports } = read(path);
    if (exports.has(name)) return { file: path, name, isType: false };
    const reexported = reexports.get(name);
    if (reexported !== undefined) return resolveImport(reexported, path);
    for (const from of wildcardReexports) {
      const file = sources.resolve(from, path);
      const target = file === undefined ? undefined : findExport(file, name, seen);
      if (target !== undefined) return target;
    }
    return undefined;
  }

  function listExports(path: string): Set<string> {
    const { exports, reexports, wildcardReexports } = read(path);
    const names = new Set([...exports.keys(), ...reexports.keys()]);
    for (const from of wildcardReexports) {
      const file = sources.resolve(from, path);
      if (file === undefined) throw new Error(`${path} exports all of ${from}`);
      for (const name of listExports(file)) if (name !== 'default') names.add(name);
    }
    return names;
  }

  /** Where an export of a file is declared: there, or in the file that it is exported from. */
  function resolveExport(path: string, name: string): Target {
    const target = findExport(path, name);
    if (target === undefined) throw new Error(`${path} does not export ${name}`);
    return target;
  }

  function selectExport(path: string, name: string): void {
    const selected = selectFile(path);
    if (selected.exports.has(name)) return;
    selected.exports.add(name);
    const file = read(path);
    const local = file.exports.get(name);
    if (local === undefined) {
      selectTarget(resolveExport(path, name), new Set([namespace]));
    } else {
      const exportNames = sources.includesWholeFile(path) ? [...file.exports.keys()] : [];
      for (const each of exportNames) selectExport(path, each);
      selectLocal(file, local);
    }
  }

  function selectAll(path: string): void {
    selectFile(path);
    for (const name of listExports(path)) selectExport(path, name);
  }

  function selectFile(path: string): Selected {
    const selected = files.get(path) ?? { declarations: new Set(), exports: new Set() };
    files.set(path, selected);
    return selected;
  }

  function selectTarget({ file, name }: Target, members: ReadonlySet<string>): void {
    if (name === namespace && members.has(namespace)) {
      selectAll(file);
    } else {
      for (const each of name === namespace ? members : [name]) selectExport(file, each);
    }
  }

  function selectLocal(file: DeclarationFile, name: string): void {
    const { declarations } = selectFile(file.path);
    for (const declaration of file.declarations) {
      if (!declaration.names.includes(name) || declarations.has(declaration)) continue;
      declarations.add(declaration);
      for (const [used, members] of declaration.uses) selectUse(file, used, members);
      for (const { from, name: used } of declaration.importTypes) {
        const target = resolveImport({ from, name: used, isType: true }, file.path);
        if (target !== undefined) selectTarget(target, new Set([namespace]));
      }
    }
  }

  function selectUse(file: DeclarationFile, name: string, members: ReadonlySet<string>): void {
    const imported = file.imports.get(name);
    if (imported === undefined) {
      selectLocal(file, name);
    } else {
      const target = resolveImport(imported, file.path);
      if (target !== undefined) selectTarget(target, members);
    }
  }

  return { files, read, resolveImport, resolveExport, selectAll };
}

/** `A as B`, `* as B` or `A`. */
function aliasClause(name: string, local: string): string {
  return name === local ? name : `${name} as ${local}`;
}

/** @returns writes a file with the declarations that are selected of it */
function createWriter(
  selection: Selection,
  sources: DeclarationSources,
): (path: string, selected: Selected) => string {
  function createText(path: string, selected: Selected): string {
    const file = selection.read(path);
    const selectedDeclarations = file.declarations.filter((each) =>
      selected.declarations.has(each),
    );
    const lines = [
      ...importLines(file, selectedDeclarations),
      ...selectedDeclarations.map((each) => declarationText(file, each)),
      ...exportLines(file, selectedDeclarations, selected.exports),
    ];
    return `${lines.join('\n')}\n`;
  }

  function importLines(
    { path, imports }: DeclarationFile,
    selectedDeclarations: readonly Declaration[],
  ): string[] {
    const used = new Set(selectedDeclarations.flatMap(({ uses }) => [...uses.keys()]));
    return [...imports]
      .filter(([local]) => used.has(local))
      .map(([local, imported]) => {
        const target = selection.resolveImport(imported, path);
        const { name } = target ?? imported;
        const from = target === undefined ? imported.from : specifier(path, target.file);
        if (name === namespace) return `import type * as ${local} from '${from}';`;
        return `import type { ${aliasClause(name, local)} } from '${from}';`;
      });
  }

  function exportLines(
    file: DeclarationFile,
    selectedDeclarations: readonly Declaration[],
    names: ReadonlySet<string>,
  ): string[] {
    const exportedInline = new Set(
      selectedDeclarations
        .filter(({ start }) => file.text.startsWith('export', start))
        .flatMap((declaration) => declaration.names),
    );
    const lines = [...names].toSorted().flatMap((name) => {
      const local = file.exports.get(name);
      if (local !== undefined) {
        return exportedInline.has(name) ? [] : [`export { ${aliasClause(local, name)} };`];
      }
      const target = selection.resolveExport(file.path, name);
      const from = specifier(file.path, target.file);
      if (target.name === namespace) return [`export * as ${name} from '${from}';`];
      return [
        `export ${target.isType ? 'type ' : ''}{ ${aliasClause(target.name, name)} } from '${from}';`,
      ];
    });
    // A file without an export would export all that it declares.
    return [...lines, 'export {};'];
  }

  function declarationText({ path, text }: DeclarationFile, declaration: Declaration): string {
    let at = declaration.textStart;
    let result = '';
    for (const { from, name, start, end } of declaration.importTypes) {
      const target = selection.resolveImport({ from, name, isType: true }, path);
      if (target === undefined) continue;
      if (target.name !== name)
        throw new Error(`${path}: ${name} has another name in ${target.file}`);
      result += `${text.slice(at, start)}'${specifier(path, target.file)}'`;
      at = end;
    }
    return (result + text.slice(at, declaration.end)).trim();
  }

  function specifier(from: string, to: string): string {
    const { packagePath } = sources;
    const path = posix.relative(dirname(packagePath(from)), packagePath(to));
    return `${path.startsWith('.') ? '' : './'}${path}.js`;
  }

  return createText;
}

/** @returns the declaration file of the entry, and those that it needs */
export function selectDeclarations(entry: string, sources: DeclarationSources): PackedFile[] {
  const selection = createSelection(sources);
  selection.selectAll(entry);
  const createText = createWriter(selection, sources);
  return [...selection.files].map(([file, selected]) => ({
    path: `${sources.packagePath(file)}.d.ts`,
    bytes: Buffer.from(createText(file, selected)),
  }));
}
